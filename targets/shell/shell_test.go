package shell

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"gotest.tools/v3/assert"
)

func TestCommand(t *testing.T) {
	env := []string{"HOME=/home/me", "SLIPWAY_SHELL=outer", "SLIPWAY_ZDOTDIR=/stale", "TOKEN=x"}
	for path, want := range map[string]struct{ args, env []string }{
		"/bin/bash":      {[]string{"--rcfile", "/t/bashrc", "-i"}, nil},
		"/usr/bin/fish":  {[]string{"--interactive", "--init-command", "source $SLIPWAY_SHELL_DIR/init.fish"}, nil},
		"/usr/local/zsh": {[]string{"-i"}, []string{"ZDOTDIR=/t/zsh"}},
	} {
		s := Shell{Path: path, Name: "operator-tf-web", Env: env}
		assert.Assert(t, !s.Unknown())
		got := s.command("/t")
		assert.Equal(t, got.Path, path)
		assert.DeepEqual(t, got.Args, want.args)
		all := append([]string{"HOME=/home/me", "TOKEN=x", "SLIPWAY_SHELL=operator-tf-web", "SLIPWAY_SHELL_DIR=/t"}, want.env...)
		slices.Sort(all)
		assert.DeepEqual(t, got.Env, all)
	}
	own := Shell{Path: "/bin/zsh", Env: []string{"PATH=/usr/bin:/bin", "ZDOTDIR=/home/me/zsh"}}.command("/t")
	assert.Assert(t, slices.Contains(own.Env, "SLIPWAY_ZDOTDIR=/home/me/zsh"), "%v", own.Env)
	assert.Assert(t, slices.Contains(own.Env, "PATH=/t/bin:/usr/bin:/bin"), "zsh may read none of our files: %v", own.Env)
	assert.Assert(t, Shell{Path: "/bin/dash"}.Unknown())
}

func TestWordsAreCommands(t *testing.T) {
	dir := t.TempDir()
	s := Shell{
		Words: map[string]string{"apply": Line("/usr/bin/printf", "<%s>", "it's", "$HOME `x`")},
		Files: map[string][]byte{"main.tf.json": []byte("{}")},
	}
	assert.NilError(t, s.furnish(dir))
	out, err := exec.Command(filepath.Join(dir, "bin", "apply"), "a b").Output()
	assert.NilError(t, err)
	assert.Equal(t, string(out), "<it's><$HOME `x`><a b>")
	text, err := os.ReadFile(filepath.Join(dir, "files", "main.tf.json"))
	assert.NilError(t, err)
	assert.Equal(t, string(text), "{}")
	for _, name := range []string{"bashrc", "init.fish", "zsh/.zshrc", "zsh/.zshenv"} {
		_, err := os.Stat(filepath.Join(dir, name))
		assert.NilError(t, err)
	}
	s.Files = map[string][]byte{"../x": nil}
	assert.ErrorContains(t, s.furnish(t.TempDir()), "no name of a file")
}
