package catalog

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	xssh "golang.org/x/crypto/ssh"

	"fediversity.eu/slipway/checks/guest"
	"fediversity.eu/slipway/checks/nixpkgs"
	"fediversity.eu/slipway/groups"
	"fediversity.eu/slipway/methods"
	"fediversity.eu/slipway/methods/deploy"
	"fediversity.eu/slipway/methods/remote"
	"fediversity.eu/slipway/targets/report"
	"fediversity.eu/slipway/targets/task"
)

// standIn unpacks the nixpkgs that is baked in.
func standIn(ctx context.Context, cache string) (string, error) {
	dir, err := nixpkgs.Unpack(ctx, filepath.Join(cache, "nixpkgs"), nixpkgs.DefaultBusybox)
	if err != nil {
		return "", report.Refuse("unpack the stand-in nixpkgs", err, "mage setup installs what it is made of; or name a nixpkgs of your own in NIXPKGS")
	}
	return dir, nil
}

// localHost boots machines on this host: test machines that outlive the run.
// Each has a folder of its own in the cache, which is all there is of it.
type localHost struct{}

func (localHost) dir(cache string, d methods.Deployment) string {
	return filepath.Join(cache, "machines", d.Group.Name+"-"+d.Machine.Name)
}

// Up boots the machine unless it runs.
func (h localHost) Up(ctx context.Context, run *task.Run, d methods.Deployment) (deploy.Reached, error) {
	cache, err := run.Environment.CacheDir()
	if err != nil {
		return deploy.Reached{}, &report.Fault{Code: report.Usage, What: "read the coordinates", Why: err}
	}
	dir, where := h.dir(cache, d), d.Machine.Placement.(groups.Local) //nolint:forcetypeassert // the method asks for no other
	g, err := guest.Find(dir)
	if err == nil {
		return reached(g, where)
	}
	if !errors.Is(err, guest.ErrNoGuest) && !errors.Is(err, guest.ErrNotRunning) {
		return deploy.Reached{}, report.Fail("find the machine", err, "destroy removes what is left of it")
	}
	log := run.Log.In("boot")
	log.Infof("a virtual machine on this host, in %s", dir)
	lines := log.Lines()
	defer func() { _ = lines.Close() }()
	g, err = guest.Start(ctx, guest.Options{
		Kind: guest.VM, Name: d.Machine.Name, Dir: dir, Cache: filepath.Join(cache, "guest"),
		Forward: where.Forward, MemoryMiB: where.MemoryMiB, DiskMiB: where.DiskMiB, Log: lines,
	})
	if err != nil {
		return deploy.Reached{}, report.Fail("boot the machine", err, "mage setup installs what a machine needs on this host")
	}
	return reached(g, where)
}

// Find gives a machine that runs.
func (h localHost) Find(_ context.Context, run *task.Run, d methods.Deployment) (deploy.Reached, error) {
	cache, err := run.Environment.CacheDir()
	if err != nil {
		return deploy.Reached{}, &report.Fault{Code: report.Usage, What: "read the coordinates", Why: err}
	}
	g, err := guest.Find(h.dir(cache, d))
	if errors.Is(err, guest.ErrNoGuest) || errors.Is(err, guest.ErrNotRunning) {
		err = fmt.Errorf("%w: %w", deploy.ErrNotThere, err)
	}
	if err != nil {
		return deploy.Reached{}, report.Refuse("find the machine", err, "apply boots it")
	}
	return reached(g, d.Machine.Placement.(groups.Local)) //nolint:forcetypeassert // as in Up
}

// Down ends the machine and removes its folder.
func (h localHost) Down(_ context.Context, run *task.Run, d methods.Deployment) error {
	cache, err := run.Environment.CacheDir()
	if err != nil {
		return &report.Fault{Code: report.Usage, What: "read the coordinates", Why: err}
	}
	dir := h.dir(cache, d)
	g, err := guest.Find(dir)
	switch {
	case err == nil:
		err = g.Close()
	case errors.Is(err, guest.ErrNoGuest), errors.Is(err, guest.ErrNotRunning):
		err = nil
	}
	if err == nil {
		err = os.RemoveAll(dir)
	}
	if err != nil {
		return report.Fail("remove the machine", err, "")
	}
	return nil
}

func reached(g *guest.Guest, where groups.Local) (deploy.Reached, error) {
	access := g.Access()
	text, err := os.ReadFile(access.KeyFile)
	if err != nil {
		return deploy.Reached{}, report.Fail("read the machine's key", err, "destroy and apply make the machine anew")
	}
	key, err := remote.ParsePrivateKey(text)
	if err != nil {
		return deploy.Reached{}, report.Fail("read the machine's key", err, "destroy and apply make the machine anew")
	}
	r := deploy.Reached{Target: remote.Target{
		Host: access.Host, Port: access.Port, User: access.User,
		HostKeys: []string{access.HostKey}, Keys: []xssh.Signer{key},
	}}
	if port, ok := g.Port(where.Answers); ok {
		r.URL = fmt.Sprintf("http://%s:%d/", access.Host, port)
	}
	return r, nil
}
