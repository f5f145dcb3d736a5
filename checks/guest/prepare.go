package guest

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"fediversity.eu/slipway/checks/guest/debian"
	"fediversity.eu/slipway/checks/guest/qemu"
)

// buildMiB is what a root file system takes while it is built.
const buildMiB = 1024

// Prepare makes all that Boot and Start need of the cache for a guest: root
// file system, disk image, template. They call it themselves; what is there
// already is not made again. Only one process at a time prepares. Name and Dir
// do not matter here.
func Prepare(ctx context.Context, options Options) error {
	options.Name, options.Dir = "any", options.Cache
	o, err := options.complete()
	if err != nil {
		return err
	}
	_, release, err := prepare(ctx, o)
	if err != nil {
		return err
	}
	release()
	return nil
}

// Tree gives the root file system that containers are made of, for whoever makes
// machines of it elsewhere. Until release is called, nobody removes it.
func Tree(ctx context.Context, cache string, log io.Writer) (root string, release func(), err error) {
	o, err := Options{Kind: Container, Name: "any", Dir: cache, Cache: cache, Log: log}.complete()
	if err != nil {
		return "", nil, err
	}
	s, release, err := prepare(ctx, o)
	return filepath.Join(s.base, debian.Root), release, err
}

// stock is what a guest is made from.
type stock struct {
	base     string // the recipe's folder
	accel    qemu.Accel
	disk     string // backing file of the guest's disk
	format   string // of that
	template string // folder of the template; empty when booting cold
}

// prepare is Prepare for complete options. Until release is called, nobody
// removes the stock.
func prepare(ctx context.Context, o Options) (s stock, release func(), err error) {
	c := cache{dir: o.Cache, suite: o.Suite, log: o.Log}
	unlock, err := c.lock(ctx)
	if err != nil {
		return s, nil, err
	}
	defer unlock()
	if err := c.prune(); err != nil {
		return s, nil, fmt.Errorf("prune cache: %w", err)
	}
	s.base = c.base()
	if !exists(s.base) {
		if err := c.buildRoot(ctx); err != nil {
			return s, nil, err
		}
	}
	if release, err = c.use(); err != nil {
		return s, nil, err
	}
	if o.Kind == VM {
		if err := c.prepareVM(ctx, o, &s); err != nil {
			release()
			return s, nil, err
		}
	}
	return s, release, nil
}

func (c cache) buildRoot(ctx context.Context) error {
	if err := room(c.dir, buildMiB); err != nil {
		return err
	}
	started := time.Now()
	err := build(c.base(), func(dir string) error {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
		return c.suite.Build(ctx, dir, c.log)
	})
	if err != nil {
		return fmt.Errorf("build root file system: %w", err)
	}
	took(c.log, "root file system built", started)
	return nil
}

func (c cache) prepareVM(ctx context.Context, o Options, s *stock) (err error) {
	if s.accel, err = c.accel(ctx, o.Accel); err != nil {
		return err
	}
	s.disk, s.format = filepath.Join(s.base, fmt.Sprintf("disk-%d.img", o.DiskMiB)), "raw"
	if !exists(s.disk) {
		started := time.Now()
		// The image is sparse: it takes what the tree takes.
		if err := room(c.dir, buildMiB/2); err != nil {
			return err
		}
		err := build(s.disk, func(file string) error { return debian.Image(ctx, s.base, file, o.DiskMiB) })
		if err != nil {
			return err
		}
		took(c.log, "disk image made", started)
	}
	if o.Cold {
		return nil
	}
	return c.prepareTemplate(ctx, o, s)
}
