package guest

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"
)

// identity is what makes a guest this one: its name, its host key, and the key
// that opens it.
type identity struct {
	name            string
	hostKey, hostID string // private in PEM, public as a line
	userKey, userID string
}

func newIdentity(name string) (identity, error) {
	id := identity{name: name}
	var err error
	if id.hostKey, id.hostID, err = newKey(); err != nil {
		return id, err
	}
	id.userKey, id.userID, err = newKey()
	return id, err
}

func newKey() (private, public string, err error) {
	point, secret, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return "", "", fmt.Errorf("make key: %w", err)
	}
	block, err := ssh.MarshalPrivateKey(secret, "")
	if err != nil {
		return "", "", fmt.Errorf("make key: %w", err)
	}
	key, err := ssh.NewPublicKey(point)
	if err != nil {
		return "", "", fmt.Errorf("make key: %w", err)
	}
	return string(pem.EncodeToMemory(block)), strings.TrimSpace(string(ssh.MarshalAuthorizedKey(key))), nil
}

// archive is the identity as files of the guest's root, in tar's format.
func (id identity) archive() ([]byte, error) {
	var out bytes.Buffer
	pack := tar.NewWriter(&out)
	for _, file := range []struct {
		name string
		mode int64
		text string
	}{
		{"etc/hostname", 0o644, id.name + "\n"},
		{"etc/hosts", 0o644, "127.0.0.1 localhost " + id.name + "\n::1 localhost\n"},
		{"root/.ssh/authorized_keys", 0o600, id.userID + "\n"},
		{"etc/ssh/ssh_host_ed25519_key.pub", 0o644, id.hostID + "\n"},
		{"etc/ssh/ssh_host_ed25519_key", 0o600, id.hostKey},
	} {
		header := &tar.Header{Name: file.name, Mode: file.mode, Size: int64(len(file.text)), ModTime: time.Now(), Format: tar.FormatUSTAR}
		if err := pack.WriteHeader(header); err != nil {
			return nil, fmt.Errorf("pack identity: %w", err)
		}
		if _, err := pack.Write([]byte(file.text)); err != nil {
			return nil, fmt.Errorf("pack identity: %w", err)
		}
	}
	if err := pack.Close(); err != nil {
		return nil, fmt.Errorf("pack identity: %w", err)
	}
	return out.Bytes(), nil
}

// message is the line that a virtual machine waits for: the time, and the
// packed identity. Its reader is recipe/root/usr/lib/guest/identity.
func (id identity) message(now time.Time) ([]byte, error) {
	archive, err := id.archive()
	if err != nil {
		return nil, err
	}
	var packed bytes.Buffer
	zip := gzip.NewWriter(&packed)
	if _, err := zip.Write(archive); err != nil {
		return nil, fmt.Errorf("pack identity: %w", err)
	}
	if err := zip.Close(); err != nil {
		return nil, fmt.Errorf("pack identity: %w", err)
	}
	return fmt.Appendf(nil, "%d.%03d %s\n", now.Unix(), now.Nanosecond()/1e6,
		base64.StdEncoding.EncodeToString(packed.Bytes())), nil
}

// store writes the key that opens the guest into its folder, and tells how to
// use it at port.
func (id identity) store(dir string) (Access, error) {
	file := filepath.Join(dir, keyFile)
	if err := os.WriteFile(file, []byte(id.userKey), 0o600); err != nil {
		return Access{}, fmt.Errorf("store key: %w", err)
	}
	return Access{Host: "127.0.0.1", User: "root", HostKey: id.hostID, KeyFile: file}, nil
}
