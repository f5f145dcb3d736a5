package gen

import (
	"bytes"
	"fmt"
	"os"

	"fediversity.eu/slipway/targets/contract"
	"fediversity.eu/slipway/targets/program"
)

// Document is one of the documents of a contract, such as
// [contract.Contract.ProgramsDocument].
type Document func(*contract.Contract) ([]byte, error)

// WriteContract brings a file with a document of the contract up to date: the
// contract.json that is baked into a front-end, the programs.json of a flake.
func WriteContract(path string, r *program.Registry, which Document) error {
	wanted, err := documentOf(r, which)
	if err != nil {
		return err
	}
	return os.WriteFile(path, wanted, 0o644) //nolint:gosec // a document
}

// CheckContract tells whether such a file is up to date.
func CheckContract(path string, r *program.Registry, which Document) error {
	wanted, err := documentOf(r, which)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(path)
	if err == nil && !bytes.Equal(text, wanted) {
		err = fmt.Errorf("%s: out of date: go generate ./... writes it anew", path)
	}
	return err
}

func documentOf(r *program.Registry, which Document) ([]byte, error) {
	c, err := contract.New(r)
	if err != nil {
		return nil, err
	}
	return which(c)
}
