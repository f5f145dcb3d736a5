package tofu

import (
	"archive/zip"
	"bytes"
	"context"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/checks/fakestate"
	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/report"
)

const token = "a-token-that-nobody-may-read"

// withToken is objects with a secret variable.
func withToken(n int) Deployment {
	d := objects(n)
	d.Files["variables.tf"] = []byte("variable \"token\" {\n  ephemeral = true\n  sensitive = true\n}\n")
	d.Vars = map[string]env.Secret{"token": env.NewSecret(token)}
	return d
}

// unwritten holds a secret to be in no file below a folder, nor in what is packed in
// one, and gives the names of the files.
func unwritten(t *testing.T, dir, secret string) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	look := func(path string, text []byte) {
		names[filepath.Base(path)] = true
		assert.Check(t, !bytes.Contains(text, []byte(secret)), "%s holds %q", path, secret)
	}
	assert.NilError(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		look(path, text)
		packed, err := zip.NewReader(bytes.NewReader(text), int64(len(text)))
		if err != nil {
			return nil //nolint:nilerr // it is none
		}
		for _, f := range packed.File {
			in, err := f.Open()
			if err != nil {
				return err
			}
			text, err := io.ReadAll(in)
			if err != nil {
				return err
			}
			look(filepath.Join(path, f.Name), text)
		}
		return nil
	}))
	return names
}

func TestSecretsAreInNoFile(t *testing.T) {
	b := newBench(t, fakestate.Strict)
	b.cold(1)
	t.Run("of a run whose folder is kept", func(t *testing.T) {
		b.Break(on("POST", fakestate.Answer{Status: 413}, false))
		defer b.Break(nil)
		_, err := b.engine(Keys{}).Apply(t.Context(), withToken(2))
		assert.Equal(t, report.CodeOf(err), report.Failed, "%v", err)
		names := unwritten(t, string(b.dir), token)
		assert.Assert(t, names["plan"] && names["tfplan"] && names["variables.tf"], "%v", names)
	})
	t.Run("of a run that reads", func(t *testing.T) {
		e := b.engine(Keys{})
		assert.NilError(t, e.private(t.Context(), withToken(1), nil, func(ctx context.Context, w *workshop) error {
			if err := w.init(ctx, false); err != nil {
				return err
			}
			names := unwritten(t, w.dir, token)
			assert.Assert(t, names["slipway-tofu.json"], "%v", names)
			return nil
		}))
	})
}
