package remote

import (
	"bytes"
	"encoding/pem"
	"errors"
	"strings"

	"golang.org/x/crypto/ssh"
)

// ParsePrivateKey reads a private key in OpenSSH's format or in PEM (PKCS 1,
// PKCS 8, SEC 1). Its errors never repeat any of the text.
func ParsePrivateKey(text []byte) (ssh.Signer, error) {
	signer, err := ssh.ParsePrivateKey(text)
	if err == nil {
		return signer, nil
	}
	block, _ := pem.Decode(text)
	switch {
	case errors.As(err, new(*ssh.PassphraseMissingError)),
		block != nil && block.Type == "ENCRYPTED PRIVATE KEY":
		return nil, errors.New("private key: it has a passphrase, and nothing here can ask for it: " +
			"load it into an ssh-agent, or give a key without one")
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
	}
	return nil, errors.New("private key: this is no key at all")
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
