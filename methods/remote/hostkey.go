package remote

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	"golang.org/x/crypto/ssh"
)

// hostKeys are the keys that a host may show, and those that it must not.
type hostKeys struct {
	hop     Hop
	allowed []ssh.PublicKey
	revoked []ssh.PublicKey
}

func readHostKeys(h Hop) (hostKeys, error) {
	keys := hostKeys{hop: h}
	var faults []error
	n := 0
	for _, text := range h.HostKeys {
		for line := range strings.Lines(text) {
			n++
			if err := keys.read(strings.TrimSpace(line)); err != nil {
				faults = append(faults, fmt.Errorf("host key %d of %s: %w", n, h.Host, err))
			}
		}
	}
	return keys, errors.Join(faults...)
}

// read takes one line: [[@marker] hosts] type base64 [comment].
func (k *hostKeys) read(line string) error {
	if line == "" || strings.HasPrefix(line, "#") {
		return nil
	}
	fields := strings.Fields(line)
	at, key := findKey(fields)
	switch {
	case key == nil && strings.Contains(line, "PRIVATE KEY"):
		return errors.New("this is a private key: declare the public one")
	case key == nil:
		return errors.New(`not a public key ("type base64 comment", or a known_hosts line)`)
	}
	if _, ok := key.(*ssh.Certificate); ok || at == 2 && fields[0] == "@cert-authority" {
		return errors.New("host certificates are not supported: declare the host's own key")
	}
	if at == 2 && fields[0] != "@revoked" {
		return fmt.Errorf("marker %q is not known", fields[0])
	}
	if algorithmsOf(key.Type()) == nil {
		return fmt.Errorf("keys of type %s are not supported: declare another of the host's keys", key.Type())
	}
	if at > 0 && !k.hop.named(fields[at-1]) {
		return nil // a line of some other host
	}
	if at == 2 {
		k.revoked = append(k.revoked, key)
	} else {
		k.allowed = append(k.allowed, key)
	}
	return nil
}

// Unnamed reports whether one of the lines is a key without the names of its hosts,
// which counts for whatever host it is declared for.
func Unnamed(lines []string) bool {
	return slices.ContainsFunc(lines, func(text string) bool {
		for line := range strings.Lines(text) {
			if at, key := findKey(strings.Fields(line)); key != nil && at == 0 {
				return true
			}
		}
		return false
	})
}

// findKey looks for "type base64" at the start, after the hosts, or after a
// marker and the hosts.
func findKey(fields []string) (at int, key ssh.PublicKey) {
	for at := range min(3, max(0, len(fields)-1)) {
		if at == 2 && !strings.HasPrefix(fields[0], "@") {
			break
		}
		blob, err := base64.StdEncoding.DecodeString(fields[at+1])
		if err != nil {
			continue
		}
		if key, err := ssh.ParsePublicKey(blob); err == nil && key.Type() == fields[at] {
			return at, key
		}
	}
	return 0, nil
}

// algorithms are those of the allowed keys, so that a server with several keys
// shows one of those that were declared.
func (k hostKeys) algorithms() []string {
	var all []string
	for _, key := range k.allowed {
		for _, algorithm := range algorithmsOf(key.Type()) {
			if !slices.Contains(all, algorithm) {
				all = append(all, algorithm)
			}
		}
	}
	return all
}

// everyAlgorithm is asked for when we only want to know what a server has.
func everyAlgorithm() []string {
	return []string{
		ssh.KeyAlgoED25519, ssh.KeyAlgoECDSA256, ssh.KeyAlgoECDSA384, ssh.KeyAlgoECDSA521,
		ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256,
	}
}

func algorithmsOf(keyType string) []string {
	switch keyType {
	case ssh.KeyAlgoRSA:
		return []string{ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256}
	case ssh.KeyAlgoED25519, ssh.KeyAlgoECDSA256, ssh.KeyAlgoECDSA384, ssh.KeyAlgoECDSA521:
		return []string{keyType}
	}
	return nil
}

// check judges the key that a host shows; nil means that it is one of those
// declared. The error lacks only the hop's name.
func (k hostKeys) check(_ string, _ net.Addr, key ssh.PublicKey) error {
	same := func(other ssh.PublicKey) bool { return bytes.Equal(other.Marshal(), key.Marshal()) }
	sameType := func(other ssh.PublicKey) bool { return other.Type() == key.Type() }
	line := strings.TrimSpace(string(ssh.MarshalAuthorizedKey(key)))
	verify := "compare the fingerprint on the machine itself (ssh-keygen -lf /etc/ssh/ssh_host_" +
		shortType(key) + "_key.pub), then declare: " + line
	e := &Error{Op: "reach"}
	switch {
	case slices.ContainsFunc(k.revoked, same):
		e.Class, e.Hint = HostKeyRevoked, "never trust this key again: give the machine a new one and declare that"
		e.Err = fmt.Errorf("host key revoked: it shows %s, which is declared as revoked", name(key))
	case slices.ContainsFunc(k.allowed, same):
		return nil
	case len(k.allowed) == 0:
		e.Class, e.Hint = HostKeyUnknown, verify
		e.Err = fmt.Errorf("host key unknown: it shows %s, and none is declared for this host", name(key))
	case slices.ContainsFunc(k.allowed, sameType):
		e.Class = HostKeyChanged
		e.Err = fmt.Errorf("host key changed: it shows %s, declared is %s", name(key), names(k.allowed))
		e.Hint = "another machine answers, or this one was installed anew; if you know that it was, " + verify
	default:
		e.Class = HostKeyWrongType
		e.Err = fmt.Errorf("host key of another type: it shows %s, declared is only %s", name(key), names(k.allowed))
		e.Hint = "declare a key of a type that the machine has: " + verify
	}
	return e
}

func name(key ssh.PublicKey) string { return key.Type() + " " + ssh.FingerprintSHA256(key) }

func names(keys []ssh.PublicKey) string {
	var all []string
	for _, key := range keys {
		all = append(all, name(key))
	}
	return strings.Join(all, ", ")
}

// shortType is the type as it stands in the names of sshd's key files.
func shortType(key ssh.PublicKey) string {
	kind, _, _ := strings.Cut(strings.TrimPrefix(key.Type(), "ssh-"), "-")
	return kind
}
