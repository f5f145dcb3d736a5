package image

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"fediversity.eu/slipway/internal/durable"
	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/report"
	"fediversity.eu/slipway/targets/task"
)

// StreamKeys say where else images go.
type StreamKeys struct {
	Streams env.Path `env:"IMAGE_STREAMS" desc:"folder that images are also published to, for a web server to serve as a simplestreams server"`
}

// catalog and index are the two files that a client asks for (Incus documentation,
// "Simple streams server").
const (
	indexFile   = "streams/v1/index.json"
	catalogFile = "streams/v1/images.json"
	dataType    = "image-downloads"
)

type catalog struct {
	Format   string             `json:"format"`
	DataType string             `json:"datatype"`
	Content  string             `json:"content_id"`
	Products map[string]product `json:"products"`
}

type product struct {
	Aliases  string             `json:"aliases"`
	Arch     string             `json:"arch"`
	OS       string             `json:"os"`
	Release  string             `json:"release"`
	Title    string             `json:"release_title"`
	Variant  string             `json:"variant"`
	Requires map[string]string  `json:"requirements,omitempty"`
	Versions map[string]version `json:"versions"`
}

type version struct {
	Items map[string]file `json:"items"`
}

// file is one file of a version. That of the metadata says what the image is called
// together with each kind of root.
type file struct {
	Type     string `json:"ftype"`
	Path     string `json:"path"`
	Size     int64  `json:"size"`
	SHA256   string `json:"sha256"`
	Squashfs string `json:"combined_squashfs_sha256,omitempty"`
	Tar      string `json:"combined_rootxz_sha256,omitempty"`
	Disk     string `json:"combined_disk-kvm-img_sha256,omitempty"`
}

// The metadata's name, which says nothing of how it is packed.
const metadataType = "incus.tar.xz"

// versionForm is what versions are called: clients pass over those that don't begin
// with a day.
const versionForm = "20060102_150405"

// arches are Incus's names of platforms.
var arches = map[string]string{"x86_64-linux": "amd64", "aarch64-linux": "arm64"}

// streams is a folder of a simplestreams server.
type streams struct {
	dir     string
	catalog catalog
}

func openStreams(dir string) (*streams, error) {
	s := &streams{dir: dir, catalog: catalog{Format: "products:1.0", DataType: dataType, Content: "images", Products: map[string]product{}}}
	text, err := os.ReadFile(filepath.Join(dir, catalogFile))
	if errors.Is(err, os.ErrNotExist) {
		return s, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &s.catalog)
	}
	if err == nil && s.catalog.Products == nil {
		err = errors.New("it has no products")
	}
	if err != nil {
		return nil, report.Refuse("read the images of "+dir, err, "IMAGE_STREAMS names an empty folder, or one that images were published to")
	}
	return s, nil
}

// product is what an image is called in a folder.
func (r *run) product(b built) string {
	return strings.Join([]string{r.group.Name, b.Name, b.arch(), b.kind()}, ":")
}

func (b built) arch() string {
	if b.System == "" {
		return "amd64"
	}
	return arches[b.System]
}

func (b built) kind() string {
	if b.Files.VM {
		return "vm"
	}
	return "container"
}

// has tells whether an image is a version of its product.
func (s *streams) has(name string, b built) bool {
	for _, v := range s.catalog.Products[name].Versions {
		if v.is(b) {
			return true
		}
	}
	return false
}

// is tells whether a version is of an image.
func (v version) is(b built) bool {
	m := v.Items[metadataType]
	return slices.Contains([]string{m.Squashfs, m.Tar, m.Disk}, b.Fingerprint)
}

// stream brings the folder to have every image: the files first, whole, and what
// speaks of them last.
func (r *run) stream(ctx context.Context, run *task.Run, all []built) error {
	if r.streams.Streams == "" {
		return nil
	}
	log := run.Log.In("streams")
	folder, err := alone(ctx, string(r.streams.Streams), log)
	if err != nil {
		return err
	}
	defer func() { _ = folder.Close() }()
	s, err := openStreams(string(r.streams.Streams))
	if err != nil {
		return err
	}
	now := time.Now().UTC()
	changed := false
	retired := map[string][]string{}
	for _, b := range all {
		name := r.product(b)
		if s.has(name, b) {
			log.Infof("%s is there: nothing written", r.moving(b))
		} else {
			if b.arch() == "" {
				return report.Refuse("publish image "+b.Name, fmt.Errorf("%s is no platform that Incus knows", b.System), "")
			}
			if err := s.add(ctx, name, r.moving(b), b, now); err != nil {
				return report.Fail("write image "+b.Name+" to "+s.dir, err, "what was there is served as before; publish goes on from here")
			}
			changed = true
			log.Infof("%s is %s", r.moving(b), b.Fingerprint)
		}
		retired[name] = s.retire(name, b, int(r.keep.Keep))
		changed = changed || len(retired[name]) > 0
	}
	if changed {
		run.Record.Changed = true
		if err := s.write(); err != nil {
			return err
		}
	}
	if r.keep.Keep == 0 {
		return nil
	}
	for _, b := range all { // what nothing speaks of any more, or a run that was killed left
		gone, err := s.sweep(r.product(b), retired[r.product(b)], now)
		for _, version := range gone {
			run.Record.Changed = true
			log.Infof("removed %s", version)
		}
		if err != nil {
			return report.Fail("remove older versions of image "+b.Name+" from "+s.dir, err, "the new one is published, and publish goes on from here")
		}
	}
	return nil
}

// streamPlan says what stream would do.
func (r *run) streamPlan(run *task.Run, all []built) error {
	if r.streams.Streams == "" {
		return nil
	}
	s, err := openStreams(string(r.streams.Streams))
	if err != nil {
		return err
	}
	for _, b := range all {
		words := []string{fmt.Sprintf("no changes: %s has %s", s.dir, b.Fingerprint)}
		if !s.has(r.product(b), b) {
			run.Record.Plan.Changes = true
			words[0] = fmt.Sprintf("would write %s to %s as %s", b.Fingerprint, s.dir, r.moving(b))
		}
		for _, old := range s.retire(r.product(b), b, int(r.keep.Keep)) {
			run.Record.Plan.Changes = true
			words = append(words, fmt.Sprintf("would remove its version %s from %s", old, s.dir))
		}
		if _, err := fmt.Fprintln(run.Out, strings.Join(words, "\n")); err != nil {
			return err
		}
	}
	return nil
}

// add puts the files of an image into the folder, and a version into the catalog.
// Versions are called by when they came; one that comes within the same second as
// another, or after the clock was set back, does not take its place.
func (s *streams) add(ctx context.Context, name, alias string, b built, now time.Time) error {
	p := s.catalog.Products[name]
	called := now.Format(versionForm)
	for _, taken := p.Versions[called]; taken; _, taken = p.Versions[called] {
		now = now.Add(time.Second)
		called = now.Format(versionForm)
	}
	metadata := file{Type: metadataType}
	root := file{}
	switch {
	case b.Files.VM:
		root.Type, metadata.Disk = "disk-kvm.img", b.Fingerprint
	case strings.HasSuffix(b.Root, ".squashfs"):
		root.Type, metadata.Squashfs = "squashfs", b.Fingerprint
	default:
		root.Type, metadata.Tar = "root.tar.xz", b.Fingerprint
	}
	items := map[string]file{}
	for _, part := range []struct {
		file
		from string
	}{{metadata, b.Metadata}, {root, b.Root}} {
		f := part.file
		f.Path = path.Join("images", strings.ReplaceAll(name, ":", "/"), called, f.Type)
		var err error
		if f.Size, f.SHA256, err = place(ctx, part.from, filepath.Join(s.dir, filepath.FromSlash(f.Path))); err != nil {
			return err
		}
		items[f.Type] = f
	}
	p.Aliases, p.Arch, p.OS, p.Release, p.Title, p.Variant = alias, b.arch(), "NixOS", alias, b.Description, "default"
	if b.Files.VM {
		p.Requires = map[string]string{"secureboot": "false"}
	}
	versions := map[string]version{called: {Items: items}}
	maps.Copy(versions, p.Versions)
	p.Versions = versions
	s.catalog.Products[name] = p
	return nil
}

// write replaces what speaks of the files, the index first: it only names products.
func (s *streams) write() error {
	index := map[string]any{"format": "index:1.0", "index": map[string]any{"images": map[string]any{
		"datatype": dataType, "path": catalogFile, "format": "products:1.0", "products": slices.Sorted(maps.Keys(s.catalog.Products)),
	}}}
	for _, f := range []struct {
		name  string
		value any
	}{{indexFile, index}, {catalogFile, s.catalog}} {
		text, err := json.MarshalIndent(f.value, "", "  ")
		if err == nil {
			_, _, err = write(context.Background(), strings.NewReader(string(text)+"\n"), filepath.Join(s.dir, filepath.FromSlash(f.name)))
		}
		if err != nil {
			return report.Fail("write "+f.name, err, "publish goes on from here")
		}
	}
	return nil
}

// place copies a file to where it is served from.
func place(ctx context.Context, from, to string) (int64, string, error) {
	source, err := os.Open(from)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = source.Close() }()
	return write(ctx, source, to)
}

// write makes a file appear whole, for a web server to read.
func write(ctx context.Context, from io.Reader, to string) (size int64, sum string, err error) {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil { //nolint:gosec // a web server reads it
		return 0, "", err
	}
	hash := sha256.New()
	err = durable.Create(to, 0o644, func(file io.Writer) error {
		size, err = io.Copy(io.MultiWriter(file, hash), from)
		if err == nil && ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return err
	})
	return size, hex.EncodeToString(hash.Sum(nil)), err
}
