package deploy

import (
	"crypto/ed25519"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	xssh "golang.org/x/crypto/ssh"
	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"fediversity.eu/slipway/methods/remote"
	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/report"
)

// privateKey is a key that opens nothing.
func privateKey(t *testing.T) string {
	t.Helper()
	_, key, err := ed25519.GenerateKey(nil)
	assert.NilError(t, err)
	block, err := xssh.MarshalPrivateKey(key, "a test")
	assert.NilError(t, err)
	return string(pem.EncodeToMemory(block))
}

// publicKey is a host key as it stands in a file.
func publicKey(t *testing.T) string {
	t.Helper()
	signer, err := xssh.ParsePrivateKey([]byte(privateKey(t)))
	assert.NilError(t, err)
	return strings.TrimSpace(string(xssh.MarshalAuthorizedKey(signer.PublicKey())))
}

func TestTarget(t *testing.T) {
	key, first, second, jump := privateKey(t), publicKey(t), publicKey(t), "[one.example]:2200,two.example "+publicKey(t)
	keys := Keys{
		Host: "web.example.org", Port: 2222, HostKey: env.Lines{first, second},
		Login: Login{
			User: "deploy", Key: env.NewSecret(key), Agent: "/run/agent", Jump: "a@one.example:2200, two.example",
			JumpKeys: env.Lines{jump}, Connect: env.Duration(30 * time.Second), KeepAlive: env.Duration(15 * time.Second),
		},
	}
	got, err := keys.target()
	assert.NilError(t, err)
	assert.Assert(t, cmp.Len(got.Keys, 1))
	want, err := xssh.ParsePrivateKey([]byte(key))
	assert.NilError(t, err)
	assert.DeepEqual(t, got.Keys[0].PublicKey().Marshal(), want.PublicKey().Marshal())
	got.Keys = nil
	assert.DeepEqual(t, got, remote.Target{
		Host: "web.example.org", Port: 2222, User: "deploy", HostKeys: []string{first, second},
		AgentSocket: "/run/agent", ConnectTimeout: 30 * time.Second, KeepAlive: 15 * time.Second,
		Jumps: []remote.Hop{
			{Host: "one.example", Port: 2200, User: "a", HostKeys: []string{jump}},
			{Host: "two.example", HostKeys: []string{jump}},
		},
	})
}

func TestAnAgentAloneOpensAMachine(t *testing.T) {
	got, err := Keys{Host: "web", Login: Login{Agent: "/run/agent"}}.target()
	assert.NilError(t, err)
	assert.Assert(t, cmp.Len(got.Keys, 0))
}

func TestALockedKeyIsTheAgents(t *testing.T) {
	raw, err := xssh.ParseRawPrivateKey([]byte(privateKey(t)))
	assert.NilError(t, err)
	block, err := xssh.MarshalPrivateKeyWithPassphrase(raw, "", []byte("open sesame"))
	assert.NilError(t, err)
	signer, err := xssh.NewSignerFromKey(raw)
	assert.NilError(t, err)
	key := env.NewSecret(string(pem.EncodeToMemory(block)))

	got, err := Keys{Host: "web", Login: Login{Key: key, Agent: "/run/agent"}}.target()
	assert.NilError(t, err)
	assert.Assert(t, cmp.Len(got.Keys, 0))
	assert.DeepEqual(t, got.AgentKey.Marshal(), signer.PublicKey().Marshal())

	_, err = Keys{Host: "web", Login: Login{Key: key}}.target()
	assert.Equal(t, report.CodeOf(err), report.Usage)
	assert.ErrorContains(t, err, "SSH_KEY: private key: it has a passphrase")
	assert.ErrorContains(t, err, "SSH_AUTH_SOCK")
}

func TestFaultsOfATarget(t *testing.T) {
	for _, c := range []struct {
		name string
		keys Keys
		want []string
	}{
		{"nothing that opens it", Keys{}, []string{"SSH_KEY, SSH_KEY_FILE or SSH_AUTH_SOCK: none is set"}},
		{"a key that is none", Keys{Login: Login{Key: env.NewSecret("not a key")}}, []string{"SSH_KEY: private key: "}},
		{"the path of a key", Keys{Login: Login{Key: env.NewSecret("/nowhere/id_ed25519")}}, []string{"SSH_KEY: private key: this is the path of a file", "SSH_KEY_FILE takes the path"}},
		{"a jump that is none", Keys{Login: Login{Agent: "/run/agent", Jump: "host:port"}}, []string{"SSH_JUMP: ", `port "port"`}},
		{"jumps of which two are none", Keys{Login: Login{Agent: "/run/agent", Jump: "@a,ok.example,b:0"}}, []string{`host "@a"`, `host "b:0"`}},
		{"a host key that is none", Keys{HostKey: env.Lines{"nonsense"}, Login: Login{Agent: "/run/agent"}}, []string{"SSH_HOST_KEY: "}},
		{
			"a host key of a jump that is none",
			Keys{Login: Login{Agent: "/run/agent", Jump: "one.example", JumpKeys: env.Lines{"nonsense"}}},
			[]string{"SSH_JUMP_HOST_KEY: "},
		},
		{
			"a key that two jumps would share",
			Keys{Login: Login{Agent: "/run/agent", Jump: "one.example,two.example", JumpKeys: env.Lines{publicKey(t)}}},
			[]string{"SSH_JUMP_HOST_KEY: a key has no host before it"},
		},
		{"everything at once", Keys{Login: Login{Key: env.NewSecret("not a key"), Jump: "host:port"}}, []string{"SSH_KEY: ", "SSH_JUMP: "}},
		{"nothing that opens it and a bad jump", Keys{Login: Login{Jump: "host:port"}}, []string{"none is set", "SSH_JUMP: "}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := c.keys.target()
			assert.Equal(t, report.CodeOf(err), report.Usage)
			for _, text := range c.want {
				assert.ErrorContains(t, err, text)
			}
		})
	}
}

func TestAFaultyKeyIsNotRepeated(t *testing.T) {
	const hush = "hush-hush-0123456789"
	_, err := Keys{Login: Login{Key: env.NewSecret("-----BEGIN OPENSSH PRIVATE KEY-----\n" + hush + "\n")}}.target()
	assert.ErrorContains(t, err, "SSH_KEY")
	assert.Assert(t, !strings.Contains(fmt.Sprintf("%v %+v %#v", err, err, err), hush))
}

func TestClassify(t *testing.T) {
	contact := func(class remote.Class) error {
		return fmt.Errorf("apply: %w", &remote.Error{Class: class, Op: "reach", Host: "root@web:22", Hint: "as a hint", Err: errors.New("because")})
	}
	for _, c := range []struct {
		class remote.Class
		code  report.Code
	}{
		{remote.Unresolved, report.Unknown},
		{remote.ConnectionRefused, report.Unknown},
		{remote.Unreachable, report.Unknown},
		{remote.HandshakeFailed, report.Unknown},
		{remote.Lost, report.Unknown},
		{remote.HostKeyUnknown, report.Refused},
		{remote.HostKeyChanged, report.Refused},
		{remote.HostKeyWrongType, report.Refused},
		{remote.HostKeyRevoked, report.Refused},
		{remote.Unauthenticated, report.Refused},
		{remote.SessionRefused, report.Refused},
		{remote.ForwardRefused, report.Refused},
		{remote.ShellRefused, report.Refused},
		{remote.SudoRefused, report.Refused},
	} {
		t.Run(c.class.String(), func(t *testing.T) {
			err := classify(contact(c.class), false)
			assert.Equal(t, report.CodeOf(err), c.code)
			assert.Error(t, err, c.class.String()+": apply: reach root@web:22: because")
			assert.DeepEqual(t, report.Hints(err), []string{"as a hint"})
			assert.Equal(t, errors.Is(err, remote.ErrLost), c.class == remote.Lost)
			assert.Equal(t, report.CodeOf(classify(contact(c.class), true)), report.Unknown, "after a change nothing is refused")
		})
	}
}

func TestClassifyLeavesTheRest(t *testing.T) {
	assert.NilError(t, classify(nil, false))
	plain := errors.New("plain")
	assert.Equal(t, classify(plain, false), plain)
	known := report.Refuse("copy", &remote.Error{Class: remote.Lost, Err: plain}, "")
	assert.Equal(t, classify(known, false), error(known), "a fault has its code already")
	exit := &remote.ExitError{Host: "root@web", Status: 1}
	assert.Equal(t, classify(exit, false), error(exit))
}

func TestClassifyKeepsAnInterruption(t *testing.T) {
	stopped := &report.Interruption{}
	err := classify(&remote.Error{Class: remote.Lost, Op: "run on", Host: "web", Err: stopped}, false)
	assert.Equal(t, report.CodeOf(err), report.Interrupted)
}
