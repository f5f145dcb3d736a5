package remote

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha1"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
	"gotest.tools/v3/assert"
)

func TestParsePrivateKey(t *testing.T) {
	signer, text := userKey(t)
	got, err := ParsePrivateKey(text)
	assert.NilError(t, err)
	assert.DeepEqual(t, got.PublicKey().Marshal(), signer.PublicKey().Marshal())
	got, err = ParsePrivateKey(bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n")))
	assert.NilError(t, err)
	assert.DeepEqual(t, got.PublicKey().Marshal(), signer.PublicKey().Marshal())

	raw, err := ssh.ParseRawPrivateKey(text)
	assert.NilError(t, err)
	locked, err := ssh.MarshalPrivateKeyWithPassphrase(raw, "", []byte("open sesame"))
	assert.NilError(t, err)
	secret := strings.Split(string(text), "\n")[1]
	inPEM := func(kind string) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: []byte(secret)}))
	}
	cases := map[string]struct{ text, want string }{
		"with a passphrase":           {string(pem.EncodeToMemory(locked)), "it has a passphrase"},
		"PKCS 8 with a passphrase":    {inPEM("ENCRYPTED PRIVATE KEY"), "it has a passphrase"},
		"public half":                 {string(ssh.MarshalAuthorizedKey(signer.PublicKey())), "this is a public key"},
		"public half in PEM":          {inPEM("PUBLIC KEY"), "this is a public key"},
		"public half in RFC 4716":     {"---- BEGIN SSH2 PUBLIC KEY ----\n" + secret, "this is a public key"},
		"PuTTY":                       {"PuTTY-User-Key-File-3: ssh-ed25519\n" + secret, "this is PuTTY's format"},
		"empty":                       {" \n", "it is empty"},
		"lines joined":                {strings.ReplaceAll(string(text), "\n", " "), "its lines are cut off or were joined"},
		"cut off":                     {string(text[:100]), "its lines are cut off or were joined"},
		"damaged":                     {inPEM("OPENSSH PRIVATE KEY"), "damaged, or of a kind"},
		"a certificate":               {inPEM("CERTIFICATE"), "holds something else"},
		"a path instead of the text":  {"/root/.ssh/" + secret, "this is the path of a file"},
		"a path from the home folder": {"~/.ssh/" + secret + "\n", "this is the path of a file"},
		"any text":                    {secret, "no key at all"},
	}
	for what, test := range cases {
		t.Run(what, func(t *testing.T) {
			_, err := ParsePrivateKey([]byte(test.text))
			assert.ErrorContains(t, err, "private key: ")
			assert.ErrorContains(t, err, test.want)
			for i := 0; i+8 <= len(secret); i += 8 {
				assert.Assert(t, !strings.Contains(err.Error(), secret[i:i+8]))
			}
		})
	}
}

// TestAPassphraseHidesOnlyThePrivateHalf has the forms in which keys are locked: OpenSSH's
// own shows the public half, by which an agent finds the key.
func TestAPassphraseHidesOnlyThePrivateHalf(t *testing.T) {
	signer, text := userKey(t)
	raw, err := ssh.ParseRawPrivateKey(text)
	assert.NilError(t, err)
	locked, err := ssh.MarshalPrivateKeyWithPassphrase(raw, "", []byte("open sesame"))
	assert.NilError(t, err)
	old := &pem.Block{Type: "RSA PRIVATE KEY", Headers: map[string]string{"Proc-Type": "4,ENCRYPTED", "DEK-Info": "AES-128-CBC,00"}, Bytes: []byte("x")}
	for what, test := range map[string]struct {
		block *pem.Block
		want  ssh.PublicKey
	}{
		"OpenSSH": {locked, signer.PublicKey()},
		"PKCS 1":  {old, nil},
		"PKCS 8":  {&pem.Block{Type: "ENCRYPTED PRIVATE KEY", Bytes: []byte("x")}, nil},
	} {
		_, err := ParsePrivateKey(pem.EncodeToMemory(test.block))
		got, ok := errors.AsType[*LockedKeyError](err)
		assert.Assert(t, ok, "%s: %v", what, err)
		assert.Equal(t, got.Public == nil, test.want == nil, what)
		if test.want != nil {
			assert.DeepEqual(t, got.Public.Marshal(), test.want.Marshal())
		}
	}
}

func TestHostKeyLines(t *testing.T) {
	signer, private := userKey(t)
	key := strings.TrimSpace(string(ssh.MarshalAuthorizedKey(signer.PublicKey())))
	cert := &ssh.Certificate{Key: signer.PublicKey(), CertType: ssh.HostCert, ValidPrincipals: []string{"web"}}
	assert.NilError(t, cert.SignCert(rand.Reader, signer))
	mac := hmac.New(sha1.New, []byte("saltsaltsaltsaltsalt"))
	mac.Write([]byte("[web]:2222"))
	hashed := "|1|" + base64.StdEncoding.EncodeToString([]byte("saltsaltsaltsaltsalt")) + "|" +
		base64.StdEncoding.EncodeToString(mac.Sum(nil))
	web := Hop{Host: "web", Port: 2222}
	plain := Hop{Host: "10.0.0.1"}

	cases := map[string]struct {
		hop              Hop
		line             string
		allowed, revoked int
		fault            string
	}{
		"key":                           {hop: plain, line: key, allowed: 1},
		"key with a comment":            {hop: plain, line: key + " root@web of old", allowed: 1},
		"comment":                       {hop: plain, line: "# " + key},
		"known_hosts":                   {hop: plain, line: "10.0.0.1 " + key, allowed: 1},
		"known_hosts, several names":    {hop: plain, line: "web,10.0.0.1 " + key, allowed: 1},
		"known_hosts, other host":       {hop: plain, line: "10.0.0.2 " + key},
		"known_hosts, wildcard":         {hop: plain, line: "10.0.?.* " + key, allowed: 1},
		"known_hosts, but not this":     {hop: plain, line: "10.*,!10.0.0.1 " + key},
		"known_hosts, port":             {hop: web, line: "[WEB]:2222 " + key, allowed: 1},
		"known_hosts, other port":       {hop: web, line: "web " + key},
		"known_hosts, hashed":           {hop: web, line: hashed + " " + key, allowed: 1},
		"known_hosts, hashed, other":    {hop: plain, line: hashed + " " + key},
		"host that is named like a key": {hop: Hop{Host: "ssh-rsa"}, line: "ssh-rsa " + key, allowed: 1},
		"revoked":                       {hop: plain, line: "@revoked * " + key, revoked: 1},
		"authority":                     {hop: plain, line: "@cert-authority * " + key, fault: "certificates are not supported"},
		"certificate":                   {hop: plain, line: string(ssh.MarshalAuthorizedKey(cert)), fault: "certificates are not supported"},
		"unknown marker":                {hop: plain, line: "@trusted * " + key, fault: `marker "@trusted" is not known`},
		"private key":                   {hop: plain, line: strings.Split(string(private), "\n")[0], fault: "this is a private key"},
		"type that does not fit":        {hop: plain, line: "ssh-rsa " + strings.Fields(key)[1], fault: "not a public key"},
		"fingerprint":                   {hop: plain, line: ssh.FingerprintSHA256(signer.PublicKey()), fault: "not a public key"},
	}
	for what, test := range cases {
		t.Run(what, func(t *testing.T) {
			test.hop.HostKeys = []string{test.line}
			keys, err := readHostKeys(test.hop)
			if test.fault != "" {
				assert.ErrorContains(t, err, test.fault)
				return
			}
			assert.NilError(t, err)
			assert.Equal(t, len(keys.allowed), test.allowed)
			assert.Equal(t, len(keys.revoked), test.revoked)
		})
	}
}

func TestNetworkErrorClasses(t *testing.T) {
	forward := func(reason ssh.RejectionReason, message string) error {
		return &ssh.OpenChannelError{Reason: reason, Message: message}
	}
	cases := map[string]struct {
		err   error
		class Class
		text  string
	}{
		"no route":                 {syscall.EHOSTUNREACH, Unreachable, "unreachable after 2s: no route to host"},
		"refused":                  {syscall.ECONNREFUSED, ConnectionRefused, "connection refused"},
		"late":                     {&lateError{limit: time.Second, doing: connecting}, Unreachable, "no answer after 1s, while connecting"},
		"behind: refused":          {forward(ssh.ConnectionFailed, "Connection refused"), ConnectionRefused, "from the hop before"},
		"behind: name":             {forward(ssh.ConnectionFailed, "Name or service not known"), Unresolved, "not known"},
		"behind: name, for now":    {forward(ssh.ConnectionFailed, "Temporary failure in name resolution"), Unresolved, "resolution"},
		"behind: no route":         {forward(ssh.ConnectionFailed, "No route to host"), Unreachable, "No route"},
		"behind: timed out":        {forward(ssh.ConnectionFailed, "Connection timed out"), Unreachable, "timed out"},
		"behind: not allowed":      {forward(ssh.Prohibited, "open failed"), ForwardRefused, "open failed"},
		"anything else is no name": {errors.New("weather"), Unreachable, "unreachable after 2s: weather"},
	}
	for what, test := range cases {
		t.Run(what, func(t *testing.T) {
			err := networkError("root@web:22", 2*time.Second, test.err)
			assert.Equal(t, err.Class, test.class)
			assert.ErrorContains(t, err, "reach root@web:22: ")
			assert.ErrorContains(t, err, test.text)
			assert.Assert(t, err.Class.String() != "")
			assert.Assert(t, !errors.Is(err, ErrLost))
		})
	}
	assert.Equal(t, Lost.String(), "contact lost")
	assert.Equal(t, Class(99).String(), "class 99")
}
