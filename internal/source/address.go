package source

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
)

// Address says where a module source is: a directory, or a tarball or a git
// repository with what pins its content.
type Address struct {
	kind   kind
	where  string // absolute path, or an address of a network
	pin    string // hash of a tarball as sha256-BASE64, revision of a repository
	folder string // below which the source lies, with slashes; empty means all of it
}

type kind int

const (
	none kind = iota
	directory
	tarball
	repository
)

const (
	gitPrefix  = "git+"
	hashPrefix = "sha256-"
	needsHash  = "#sha256-… or #HEX behind it, the SHA-256 of the file"
	needsRev   = "#REVISION behind it, a whole commit id of 40 or 64 hexadecimal digits"
)

var (
	revision = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)
	scheme   = regexp.MustCompile(`^([a-z][a-z0-9+.-]*)://`)
	archive  = regexp.MustCompile(`\.(tar|tgz|tar\.(gz|zst|bz2))$`)
)

// Set tells whether there is an address.
func (a Address) Set() bool { return a.kind != none }

// Valid says what EnvDecode accepts.
func (*Address) Valid() string {
	return "a directory, TARBALL#sha256-… (path or http(s) address), or git+REPOSITORY#REVISION (path, or file, http(s) or ssh address); then :FOLDER where it is a part of it"
}

// String writes the address as EnvDecode takes it.
func (a Address) String() string {
	text := a.where
	if a.kind == repository {
		text = gitPrefix + text
	}
	if a.pin != "" {
		text += "#" + a.pin
	}
	if a.folder != "" {
		text += ":" + a.folder
	}
	return text
}

// EnvDecode takes what Valid says.
func (a *Address) EnvDecode(value string) error {
	if strings.ContainsAny(value, "\r\n\x00") {
		return errors.New("has more than one line")
	}
	read, err := parse(value)
	if err == nil {
		*a = read
	}
	return err
}

func parse(value string) (Address, error) {
	if rest, ok := strings.CutPrefix(value, gitPrefix); ok {
		return parseRepository(rest)
	}
	where, fragment, pinned := strings.Cut(value, "#")
	if s := scheme.FindStringSubmatch(where); s != nil {
		if s[1] != "http" && s[1] != "https" && s[1] != "file" {
			return Address{}, fmt.Errorf("is an address by %s; a tarball has a path or an http or https address, a git repository has git+ before it", s[1])
		}
		return parseTarball(where, fragment)
	}
	if archive.MatchString(where) || pinned && (strings.HasPrefix(fragment, hashPrefix) || isHex(fragment)) {
		return parseTarball(where, fragment)
	}
	path, err := absolute(value)
	return Address{kind: directory, where: path}, err
}

func isHex(text string) bool {
	text, _, _ = strings.Cut(text, ":")
	sum, err := hex.DecodeString(text)
	return err == nil && len(sum) == 32
}

func parseTarball(where, fragment string) (Address, error) {
	a := Address{kind: tarball}
	pin, folder, _ := strings.Cut(fragment, ":")
	if pin == "" {
		return a, errors.New("is a tarball without a hash; it needs " + needsHash)
	}
	var err error
	if a.pin, err = hash(pin); err != nil {
		if revision.MatchString(pin) {
			return a, errors.New("has a revision, and no git+ before it; a tarball needs " + needsHash)
		}
		return a, err
	}
	if a.folder, err = below(folder); err != nil {
		return a, err
	}
	if a.where, err = located(where); err != nil {
		return a, err
	}
	// Nix fetches by https what is a network's, and the path itself is read here.
	a.where = strings.TrimPrefix(a.where, "file://")
	return a, nil
}

// hash gives a SHA-256 as sha256-BASE64.
func hash(text string) (string, error) {
	sum, err := hex.DecodeString(text)
	if encoded, ok := strings.CutPrefix(text, hashPrefix); ok {
		sum, err = base64.StdEncoding.DecodeString(encoded)
	}
	if err != nil || len(sum) != 32 {
		return "", errors.New("has a hash that is none; it needs " + needsHash)
	}
	return hashPrefix + base64.StdEncoding.EncodeToString(sum), nil
}

func parseRepository(text string) (Address, error) {
	a := Address{kind: repository}
	where, fragment, _ := strings.Cut(text, "#")
	rev, folder, _ := strings.Cut(fragment, ":")
	switch {
	case rev == "":
		return a, errors.New("is a git repository without a revision; it needs " + needsRev)
	case !revision.MatchString(rev):
		return a, errors.New("has a revision that is not whole, or the name of a branch or tag, which may move; it needs " + needsRev)
	}
	var err error
	if a.folder, err = below(folder); err != nil {
		return a, err
	}
	a.pin = rev
	a.where, err = located(where)
	return a, err
}

// located checks a path, or an address of a network. What could be a secret is in
// none of them: they stand in command lines and in records.
func located(where string) (string, error) {
	s := scheme.FindStringSubmatch(where)
	if s == nil {
		if host, _, ok := strings.Cut(where, ":"); ok && !strings.Contains(host, "/") {
			return "", errors.New("is neither a path nor an address; an ssh address begins with ssh://")
		}
		return absolute(where)
	}
	u, err := url.Parse(where)
	if err != nil {
		return "", errors.New("is no address")
	}
	_, password := u.User.Password()
	switch {
	case u.Scheme == "file":
		if u.Host != "" || !filepath.IsAbs(u.Path) {
			return "", errors.New("is a file address without an absolute path, as file:///srv/modules")
		}
		return "file://" + filepath.Clean(u.Path), nil
	case u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "ssh":
		return "", fmt.Errorf("is an address by %s; there are file, http, https, and for git ssh", u.Scheme)
	case u.Host == "" || strings.HasPrefix(u.Host, "-"):
		return "", errors.New("is an address without a host")
	case password || u.User != nil && u.Scheme != "ssh":
		return "", errors.New("has a user or password in it, which would stand in command lines and records")
	case strings.HasPrefix(u.User.Username(), "-"):
		return "", errors.New("has a user that is an option")
	case u.RawQuery != "" || u.ForceQuery:
		return "", errors.New("has a query, which may be a secret and would stand in command lines and records")
	}
	return where, nil
}

// absolute gives a path as an absolute one.
func absolute(path string) (string, error) {
	if path == "" {
		return "", errors.New("names nothing")
	}
	if strings.HasPrefix(path, "~") {
		return "", errors.New("starts with ~, which only a shell expands")
	}
	return filepath.Abs(path)
}

// below checks the name of a folder within a source.
func below(folder string) (string, error) {
	if folder == "" {
		return "", nil
	}
	clean := filepath.Clean(folder)
	if !filepath.IsLocal(clean) {
		return "", errors.New("names a folder that is not below the source")
	}
	if clean == "." {
		return "", nil
	}
	return clean, nil
}
