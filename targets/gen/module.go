package gen

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	"fediversity.eu/slipway/groups/modulejson"
	"fediversity.eu/slipway/targets/program"
)

// WriteModule writes the module.json of all groups into the folder that holds their
// NixOS modules, which makes a module source of it.
func WriteModule(dir string, r *program.Registry) error {
	text, err := moduleOf(r)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, modulejson.File), text, 0o644)
}

// CheckModule says whether that file is as WriteModule would write it.
func CheckModule(dir string, r *program.Registry) error {
	want, err := moduleOf(r)
	if err != nil {
		return err
	}
	path := filepath.Join(dir, modulejson.File)
	have, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if !bytes.Equal(have, want) {
		return fmt.Errorf("%s is not what is declared: run go generate ./targets", path)
	}
	return nil
}

func moduleOf(r *program.Registry) ([]byte, error) {
	module, err := modulejson.Of(r.Groups()...)
	if err != nil {
		return nil, err
	}
	return module.Bytes()
}
