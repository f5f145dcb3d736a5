package image

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"
	"gotest.tools/v3/fs"

	"fediversity.eu/slipway/groups"
	"fediversity.eu/slipway/internal/incus"
	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/report"
	"fediversity.eu/slipway/targets/task"
)

// waits tells when a log says that something is waited for.
type waits chan struct{}

func (w waits) Take(e report.Event) {
	if strings.Contains(e.Text, "waiting for another run") {
		close(w)
	}
}

// TestTwoGroupsInOneFolder publishes while another run has read what the folder holds
// and not yet written what it adds.
func TestTwoGroupsInOneFolder(t *testing.T) {
	image := fs.NewDir(t, "image", fs.WithFile("metadata.tar.xz", "meta"), fs.WithFile("nixos.squashfs", "root"))
	base := built{Image: groups.Image{Name: "base"}, Files: incus.Files{Metadata: image.Join("metadata.tar.xz"), Root: image.Join("nixos.squashfs")}, Fingerprint: "abc"}
	dir := t.TempDir()
	folder, err := alone(t.Context(), dir, report.NewLog(nil))
	assert.NilError(t, err)
	first, err := openStreams(dir)
	assert.NilError(t, err)

	waiting, ended := make(waits), make(chan error, 1)
	go func() {
		r := &run{group: groups.Group{Name: "operator"}, streams: StreamKeys{Streams: env.Path(dir)}}
		ended <- r.stream(t.Context(), &task.Run{Log: report.NewLog(waiting), Record: &report.Record{}}, []built{base})
	}()
	select {
	case <-waiting:
	case err := <-ended:
		t.Fatalf("it did not wait: %v", err)
	}
	hosting := &run{group: groups.Group{Name: "hosting-provider"}}
	assert.NilError(t, first.add(t.Context(), hosting.product(base), hosting.moving(base), base, time.Date(2026, 11, 30, 1, 2, 3, 0, time.UTC)))
	assert.NilError(t, first.write())
	assert.NilError(t, folder.Close())
	assert.NilError(t, <-ended)

	both, err := openStreams(dir)
	assert.NilError(t, err)
	assert.Assert(t, both.has("operator:base:amd64:container", base))
	assert.Assert(t, both.has("hosting-provider:base:amd64:container", base))
}

func TestAFolderThatIsTakenIsNotWaitedForAfterAnInterruption(t *testing.T) {
	dir := t.TempDir()
	folder, err := alone(t.Context(), dir, report.NewLog(nil))
	assert.NilError(t, err)
	defer func() { assert.Check(t, cmp.Nil(folder.Close())) }()
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("interrupted")
	cancel(why)
	_, err = alone(ctx, dir, report.NewLog(nil))
	assert.ErrorIs(t, err, why)
}

func TestAFolderThatStaysTakenIsBusy(t *testing.T) {
	dir := t.TempDir()
	folder, err := alone(t.Context(), dir, report.NewLog(nil))
	assert.NilError(t, err)
	defer func() { assert.Check(t, cmp.Nil(folder.Close())) }()
	synctest.Test(t, func(t *testing.T) {
		_, err := alone(t.Context(), dir, report.NewLog(nil))
		assert.Equal(t, report.CodeOf(err), report.Busy)
		assert.ErrorContains(t, err, "another run that publishes to "+dir)
	})
}
