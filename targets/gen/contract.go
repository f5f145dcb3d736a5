package gen

import (
	"bytes"
	"fmt"
	"os"

	"fediversity.eu/slipway/targets/contract"
	"fediversity.eu/slipway/targets/program"
)

// WriteContract brings a contract.json that is baked into a front-end up to date.
func WriteContract(path string, r *program.Registry) error {
	wanted, err := documentOf(r)
	if err != nil {
		return err
	}
	return os.WriteFile(path, wanted, 0o644) //nolint:gosec // a document
}

// CheckContract tells whether such a file is up to date.
func CheckContract(path string, r *program.Registry) error {
	wanted, err := documentOf(r)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(path)
	if err == nil && !bytes.Equal(text, wanted) {
		err = fmt.Errorf("%s: out of date: go generate ./... writes it anew", path)
	}
	return err
}

func documentOf(r *program.Registry) ([]byte, error) {
	c, err := contract.New(r)
	if err != nil {
		return nil, err
	}
	return c.Document()
}
