// Package shell opens the shell of whoever asks, with the verbs of a deployment
// on the PATH. The shell is theirs: their own files are read first, and nothing is
// left when it ends.
package shell

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"fediversity.eu/slipway/internal/child"
)

//go:embed all:rc
var rc embed.FS

// The variables by which the files in rc know where they are. Nothing of ours
// reads them.
const (
	nameVariable = "SLIPWAY_SHELL"
	dirVariable  = "SLIPWAY_SHELL_DIR"
	zshVariable  = "SLIPWAY_ZDOTDIR" // where zsh's own files are, if that is said
)

// Kinds lists the shells that there is support for.
func Kinds() []string { return []string{"bash", "fish", "zsh"} }

// Shell is a shell to open.
type Shell struct {
	Path  string            // of the shell: its name is one of Kinds
	Name  string            // what the prompt says
	Env   []string          // the environment of whoever asks, "KEY=value"
	Words map[string]string // what is on the PATH: a word, and the command line of sh that it is
	Files map[string][]byte // to be read there
}

// Unknown tells whether the shell is none of Kinds.
func (s Shell) Unknown() bool { return !slices.Contains(Kinds(), filepath.Base(s.Path)) }

// Open opens the shell and waits for its end. greet is told of the folder in which
// Files are, before the shell starts; the folder is gone when Open returns.
func (s Shell) Open(ctx context.Context, greet func(dir string)) (err error) {
	dir, err := os.MkdirTemp("", "slipway-shell-")
	if err != nil {
		return fmt.Errorf("make a folder for the shell: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := s.furnish(dir); err != nil {
		return fmt.Errorf("furnish the shell: %w", err)
	}
	greet(filepath.Join(dir, "files"))
	return s.command(dir).Run(ctx)
}

// furnish writes what the shell reads and finds.
func (s Shell) furnish(dir string) error {
	files, err := fs.Sub(rc, "rc")
	if err != nil {
		return err
	}
	if err := os.CopyFS(dir, files); err != nil {
		return err
	}
	for folder, list := range map[string]map[string][]byte{"bin": s.scripts(), "files": s.Files} {
		if err := os.Mkdir(filepath.Join(dir, folder), 0o700); err != nil {
			return err
		}
		for name, text := range list {
			if !filepath.IsLocal(name) || filepath.Base(name) != name {
				return fmt.Errorf("%q is no name of a file", name)
			}
			mode := fs.FileMode(0o400)
			if folder == "bin" {
				mode = 0o500
			}
			if err := os.WriteFile(filepath.Join(dir, folder, name), text, mode); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s Shell) scripts() map[string][]byte {
	all := map[string][]byte{}
	for word, line := range s.Words {
		all[word] = []byte("#!/bin/sh\n" + line + "\n")
	}
	return all
}

// command is the shell with what makes it read our file after its owner's.
func (s Shell) command(dir string) child.Terminal {
	t := child.Terminal{Path: s.Path}
	own := map[string]string{nameVariable: s.Name, dirVariable: dir}
	switch filepath.Base(s.Path) {
	case "bash":
		t.Args = []string{"--rcfile", filepath.Join(dir, "bashrc"), "-i"}
	case "fish":
		t.Args = []string{"--interactive", "--init-command", "source $" + dirVariable + "/init.fish"}
	case "zsh":
		t.Args = []string{"-i"}
		for _, entry := range s.Env {
			if value, ok := strings.CutPrefix(entry, "ZDOTDIR="); ok {
				own[zshVariable] = value
			}
			// Where this host's own zshenv sets ZDOTDIR, our files are not read.
			if value, ok := strings.CutPrefix(entry, "PATH="); ok {
				own["PATH"] = filepath.Join(dir, "bin") + ":" + value
			}
		}
		own["ZDOTDIR"] = filepath.Join(dir, "zsh")
	}
	for _, entry := range s.Env {
		name, _, _ := strings.Cut(entry, "=")
		if _, replaced := own[name]; !replaced && name != zshVariable {
			t.Env = append(t.Env, entry)
		}
	}
	for name, value := range own {
		t.Env = append(t.Env, name+"="+value)
	}
	slices.Sort(t.Env)
	return t
}

// Line writes a command line that sh takes as these words, with what the caller
// adds at its end.
func Line(words ...string) string {
	quoted := make([]string, 0, len(words))
	for _, word := range words {
		quoted = append(quoted, "'"+strings.ReplaceAll(word, "'", `'\''`)+"'")
	}
	return "exec " + strings.Join(quoted, " ") + ` "$@"`
}
