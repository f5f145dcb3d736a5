package remote

import (
	"bytes"
	"encoding/pem"
	"errors"
	"slices"
	"strings"

	"golang.org/x/crypto/ssh"
)

// LockedKeyError is a private key with a passphrase, which nothing here can ask for.
// An ssh-agent that holds the key can still sign with it: see Target.AgentKey.
type LockedKeyError struct {
	Public ssh.PublicKey // its other half; nil where the file does not show it
}

// Error says what can be done.
func (e *LockedKeyError) Error() string {
	return "private key: it has a passphrase, and nothing here can ask for it: " +
		"load it into an ssh-agent, or give a key without one"
}

// ParsePrivateKey reads a private key in OpenSSH's format or in PEM (PKCS 1,
// PKCS 8, SEC 1). Its errors never repeat any of the text.
func ParsePrivateKey(text []byte) (ssh.Signer, error) {
	signer, err := ssh.ParsePrivateKey(text)
	if err == nil {
		return signer, nil
	}
	block, _ := pem.Decode(text)
	if locked, ok := errors.AsType[*ssh.PassphraseMissingError](err); ok {
		return nil, &LockedKeyError{Public: locked.PublicKey}
	}
	switch {
	case block != nil && block.Type == "ENCRYPTED PRIVATE KEY":
		return nil, &LockedKeyError{}
	case isPublicKey(text, block):
		return nil, errors.New("private key: this is a public key: give its other half, the file without .pub")
	case bytes.HasPrefix(text, []byte("PuTTY-User-Key-File")):
		return nil, errors.New("private key: this is PuTTY's format: convert it with puttygen -O private-openssh")
	case len(bytes.TrimSpace(text)) == 0:
		return nil, errors.New("private key: it is empty")
	case block == nil && bytes.Contains(text, []byte("PRIVATE KEY-----")):
		return nil, errors.New("private key: damaged: it starts as one, but its lines are cut off or were joined")
	case block != nil && !strings.Contains(block.Type, "PRIVATE KEY"):
		return nil, errors.New("private key: this is PEM, but holds something else")
	case block != nil:
		return nil, errors.New("private key: damaged, or of a kind that is not known here")
	case isPath(text):
		return nil, errors.New("private key: this is the path of a file, and not what is in it")
	}
	return nil, errors.New("private key: this is no key at all")
}

// isPath reports whether text looks like the path of a file.
func isPath(text []byte) bool {
	line := strings.TrimSpace(string(text))
	return !strings.Contains(line, "\n") && slices.ContainsFunc([]string{"/", "~/", "./", "../"}, func(start string) bool {
		return strings.HasPrefix(line, start)
	})
}

func isPublicKey(text []byte, block *pem.Block) bool {
	if block != nil {
		return strings.Contains(block.Type, "PUBLIC KEY")
	}
	if bytes.HasPrefix(text, []byte("---- BEGIN SSH2 PUBLIC KEY")) {
		return true
	}
	_, _, _, _, err := ssh.ParseAuthorizedKey(text)
	return err == nil
}
