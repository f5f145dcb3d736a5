// Package toolchain runs the go command in the checkout that this process works
// in.
package toolchain

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"fediversity.eu/slipway/internal/child"
	"fediversity.eu/slipway/targets/env"
)

// Keys are the variables that the go command reads and that are handed on to it.
type Keys struct {
	Cache    env.Path `env:"GOCACHE" desc:"Go's build cache"`
	Modules  env.Path `env:"GOMODCACHE" desc:"Go's module cache"`
	Path     env.Path `env:"GOPATH" desc:"Go's workspace"`
	Flags    string   `env:"GOFLAGS" desc:"flags of every go command"`
	Proxy    string   `env:"GOPROXY" desc:"where Go modules come from"`
	Sums     string   `env:"GOSUMDB" desc:"who vouches for Go modules"`
	Tools    string   `env:"GOTOOLCHAIN" desc:"which Go may be used"`
	CompileC string   `env:"CGO_ENABLED" desc:"whether Go may use a C compiler"`
}

// Environment is what a go command gets: what is set of the keys, and own, which
// wins.
func (k Keys) Environment(e env.Environment, own map[string]string) []string {
	all := map[string]string{
		"GOCACHE": string(k.Cache), "GOMODCACHE": string(k.Modules), "GOPATH": string(k.Path), "GOFLAGS": k.Flags,
		"GOPROXY": k.Proxy, "GOSUMDB": k.Sums, "GOTOOLCHAIN": k.Tools, "CGO_ENABLED": k.CompileC,
	}
	maps.DeleteFunc(all, func(_, value string) bool { return value == "" })
	maps.Copy(all, own)
	return e.Child(all)
}

// Go is a go command in the module at dir.
func (k Keys) Go(e env.Environment, dir string, own map[string]string, args ...string) child.Command {
	return child.Command{Path: "go", Args: args, Dir: dir, Env: k.Environment(e, own)}
}

// Module finds the module of Slipway that this process works in.
func Module() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && strings.HasPrefix(string(text), "module fediversity.eu/slipway\n") {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("no go.mod of fediversity.eu/slipway here or above")
		}
		dir = parent
	}
}
