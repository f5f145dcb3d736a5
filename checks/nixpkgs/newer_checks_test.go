//go:build checks

package nixpkgs_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/checks/guest"
	"fediversity.eu/slipway/internal/child"
)

// The machine has a later Nix than Debian's stable hosts: one derivation comes
// of both.
func TestLaterNixGivesTheSameSystem(t *testing.T) {
	m := bootMachine(t, guest.Container)
	source, err := filepath.Abs("../../groups")
	assert.NilError(t, err)
	s := system{source: source, modules: []string{"operator/web.nix"}}
	link, _, _, err := m.nix.instantiate(t, s)
	assert.NilError(t, err)
	here, err := os.Readlink(link)
	assert.NilError(t, err)

	args := m.nix.input(t, s)
	input := args[3]
	pack := child.Command{Path: "tar", Env: m.nix.env, Args: []string{
		"-c", "-P", m.nix.nixpkgs, source, args[0], input,
	}}
	tree, err := pack.Output(t.Context())
	assert.NilError(t, err)
	unpack := child.Command{
		Path: "ssh", Env: m.nix.env, Stdin: strings.NewReader(string(tree)),
		Args: append(append([]string{}, m.ssh...), m.host(), "tar -x -P"),
	}
	assert.NilError(t, unpack.Run(t.Context()))
	t.Log(m.must(t, "nix-instantiate --version"))
	there := m.must(t, "nix-instantiate -A toplevel '"+strings.Join(args, "' '")+"' 2>/dev/null")
	assert.Equal(t, there, here)
}
