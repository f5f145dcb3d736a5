package incus

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
)

// Files are an image on this host: what describes it, and its root.
type Files struct {
	Metadata string // a tar archive with metadata.yaml
	Root     string // a squashfs or tar archive for containers, a qcow2 disk for virtual machines
	VM       bool
}

// Fingerprint is how a server will call the image: the SHA-256 of both files, one
// after the other.
func (f Files) Fingerprint() (string, error) {
	sum := sha256.New()
	for _, name := range f.paths() {
		if err := copyFile(sum, name); err != nil {
			return "", fmt.Errorf("hash the image: %w", err)
		}
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

func (f Files) paths() []string {
	return []string{f.Metadata, f.Root}
}

// Size is how much there is to send, in bytes.
func (f Files) Size() (int64, error) {
	var all int64
	for _, name := range f.paths() {
		info, err := os.Stat(name)
		if err != nil {
			return 0, err
		}
		all += info.Size()
	}
	return all, nil
}

func copyFile(to io.Writer, name string) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	_, err = io.Copy(to, file)
	return err
}

// HasImage tells whether the project has an image.
func (c *Client) HasImage(ctx context.Context, fingerprint string) (bool, error) {
	_, err := c.Get(ctx, c.remote.Project, "images", fingerprint)
	if Absent(err) {
		return false, nil
	}
	return err == nil, err
}

// Upload sends an image and gives the fingerprint that the server computed. The
// server refuses what does not hash to the one it is told.
func (c *Client) Upload(ctx context.Context, f Files, fingerprint string, properties map[string]string) (string, error) {
	body, write := io.Pipe()
	form := multipart.NewWriter(write)
	sending, paced := pace(ctx, body)
	defer paced.stop()
	q, err := c.request(sending, http.MethodPost, path(Query{"project": c.remote.Project}, "images"), paced)
	if err != nil {
		return "", err
	}
	go func() { write.CloseWithError(f.send(form)) }()
	q.Header.Set("Content-Type", form.FormDataContentType())
	values := url.Values{}
	for name, value := range properties {
		values.Set(name, value)
	}
	q.Header.Set("X-Incus-properties", values.Encode())
	q.Header.Set("X-Incus-fingerprint", fingerprint)
	q.Header.Set("X-Incus-filename", filepath.Base(f.Metadata))
	var made struct {
		Fingerprint string `json:"fingerprint"`
	}
	err = c.do(ctx, q, &made)
	_ = body.CloseWithError(errors.New("the server has answered"))
	if errors.Is(err, errForgotten) {
		if has, failed := c.HasImage(ctx, fingerprint); has || failed != nil {
			return fingerprint, failed
		}
	}
	return made.Fingerprint, err
}

// send writes the files, as parts of a form in the order that the server wants them
// in.
func (f Files) send(form *multipart.Writer) error {
	root := "rootfs"
	if f.VM {
		root = "rootfs.img"
	}
	for _, part := range []struct{ name, file string }{{"metadata", f.Metadata}, {root, f.Root}} {
		to, err := form.CreateFormFile(part.name, filepath.Base(part.file))
		if err != nil {
			return err
		}
		if err := copyFile(to, part.file); err != nil {
			return err
		}
	}
	return form.Close()
}

// Alias gives the fingerprint that a name stands for; none where there is no such
// name.
func (c *Client) Alias(ctx context.Context, name string) (string, error) {
	var a struct {
		Target string `json:"target"`
	}
	err := c.call(ctx, http.MethodGet, path(Query{"project": c.remote.Project}, "images", "aliases", name), nil, &a)
	if Absent(err) {
		return "", nil
	}
	return a.Target, err
}

// SetAlias makes a name stand for an image, whatever it stood for.
func (c *Client) SetAlias(ctx context.Context, name, fingerprint, description string) error {
	before, err := c.Alias(ctx, name)
	if err != nil || before == fingerprint {
		return err
	}
	body := map[string]string{"target": fingerprint, "description": description}
	if before != "" {
		return c.call(ctx, http.MethodPut, path(Query{"project": c.remote.Project}, "images", "aliases", name), body, nil)
	}
	body["name"] = name
	return c.call(ctx, http.MethodPost, path(Query{"project": c.remote.Project}, "images", "aliases"), body, nil)
}
