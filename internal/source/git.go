package source

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"fediversity.eu/slipway/internal/child"
)

// attributes undo what a tree may ask git to do to its files on their way out.
const attributes = "* !text !eol !crlf !ident !filter !working-tree-encoding !export-ignore !export-subst\n"

// fetchRevision unpacks a revision of a repository into an empty folder. The tree
// goes from git's objects to our unpacking: nothing is checked out.
func (s *Shelf) fetchRevision(ctx context.Context, a Address, agent, dir string) error {
	repository := filepath.Join(filepath.Dir(dir), "repository")
	git := func(args ...string) child.Command {
		return child.Command{Path: "git", Env: s.gitEnvironment(repository, agent), Args: append([]string{
			"-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "submodule.recurse=false",
			"-c", "fetch.recurseSubmodules=false", "-c", "core.autocrlf=false", "-c", "gc.auto=0", "-c", "maintenance.auto=false",
		}, args...)}
	}
	run := func(args ...string) (string, error) {
		out, err := git(args...).Output(ctx)
		if err != nil {
			return "", failed(ctx, err, "git", "git fetches it, by ssh with the keys and known hosts of this user or with an agent's")
		}
		return strings.TrimSpace(string(out)), nil
	}
	format := "--object-format=sha1"
	if len(a.pin) == 64 {
		format = "--object-format=sha256"
	}
	if _, err := run("init", "--quiet", "--bare", "--template=", format, repository); err != nil {
		return err
	}
	info := filepath.Join(repository, "info")
	if err := os.MkdirAll(info, 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(info, "attributes"), []byte(attributes), 0o600); err != nil {
		return err
	}
	fetch := []string{"fetch", "--quiet", "--no-tags"}
	if _, err := run(append(fetch, "--depth=1", a.where, a.pin)...); err != nil {
		if ctx.Err() != nil {
			return err
		}
		// Some servers give out only what has a name.
		if _, err := run(append(fetch, a.where, "+refs/*:refs/*")...); err != nil {
			return err
		}
	}
	kind, err := run("cat-file", "-t", a.pin)
	if err != nil || kind != "commit" {
		if err == nil {
			err = &refusal{fmt.Errorf("%s is a %s, and a source is a commit", a.pin, kind), "nothing was started"}
		}
		return err
	}
	read, write := io.Pipe()
	unpacked := make(chan error, 1)
	go func() {
		err := unpack(read, dir)
		if err == nil {
			_, err = io.Copy(io.Discard, read) // what fills the last block
		}
		_ = read.CloseWithError(err)
		unpacked <- err
	}()
	command := git("archive", "--format=tar", a.pin)
	command.Stdout = write
	err = command.Run(ctx)
	_ = write.Close()
	if failure := <-unpacked; failure != nil && err == nil {
		return &refusal{failure, "a module source holds text files, folders, and links among them"}
	}
	if err != nil {
		return failed(ctx, err, "git", "the revision is there, and could not be read")
	}
	return nil
}

// gitEnvironment lets git use no configuration but ours, ask nobody, and speak by
// no protocol but those that an address may have.
func (s *Shelf) gitEnvironment(repository, agent string) []string {
	own := map[string]string{
		"GIT_DIR": repository, "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.DevNull, "GIT_ATTR_NOSYSTEM": "1",
		"GIT_TERMINAL_PROMPT": "0", "GIT_ALLOW_PROTOCOL": "file:http:https:ssh",
		"GIT_SSH_COMMAND": "ssh -o BatchMode=yes -o ConnectTimeout=30", "LC_ALL": "C",
	}
	if agent != "" {
		own["SSH_AUTH_SOCK"] = agent
	}
	if authorities := s.environment.Authorities(); authorities != "" {
		own["GIT_SSL_CAINFO"] = authorities // git asks no other variable
	}
	return s.environment.Child(own)
}
