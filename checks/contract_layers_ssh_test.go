//go:build checks

package checks

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"testing"

	xssh "golang.org/x/crypto/ssh"
	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"fediversity.eu/slipway/internal/child"
	"fediversity.eu/slipway/targets/report"
)

// atHome runs a program in a name space of mounts where the home of this user is the
// folder $0, and where sshd finds the folder that it wants.
const atHome = `mount --bind "$0" "$1"; mount -t tmpfs run /run; mkdir /run/sshd; shift; exec "$@"`

// TestContractLayersOverSSH fetches a repository as git does from most servers: by the
// real ssh with what this user has in its home, from the real sshd.
func TestContractLayersOverSSH(t *testing.T) {
	w := newLayersWorld(t)
	w.git("init", "--quiet", "-b", "main")
	w.git("add", ".")
	w.git("commit", "--quiet", "-m", "pinned")
	first := w.git("rev-parse", "HEAD")
	for _, part := range []string{"unshare", "/usr/sbin/sshd"} {
		if _, err := child.Find(part, pairs(w.env)); err != nil {
			t.Skip("missing part: " + part)
		}
	}
	who, err := user.Current()
	assert.NilError(t, err)
	home := filepath.Join(w.dir, "home")
	write := func(name, text string) string {
		path := filepath.Join(home, ".ssh", name)
		assert.NilError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		assert.NilError(t, os.WriteFile(path, []byte(text), 0o600))
		return filepath.Join(who.HomeDir, ".ssh", name)
	}
	identity := func(name string) (file, public string) {
		key, private, err := ed25519.GenerateKey(rand.Reader)
		assert.NilError(t, err)
		block, err := xssh.MarshalPrivateKey(private, "")
		assert.NilError(t, err)
		line, err := xssh.NewPublicKey(key)
		assert.NilError(t, err)
		return write(name, string(pem.EncodeToMemory(block))), string(xssh.MarshalAuthorizedKey(line))
	}
	hostKey, host := identity("host")
	_, login := identity("id_ed25519")
	server := write("server", fmt.Sprintf("HostKey %s\nAuthorizedKeysFile %s\nPermitRootLogin prohibit-password\nStrictModes no\nUsePAM no\nPidFile none\n",
		hostKey, write("authorized", login)))
	write("config", "Host git.example.org\n  ProxyCommand /usr/sbin/sshd -i -f "+server+"\n")
	w.enter = []string{"unshare", "--mount", "--propagation", "private", "sh", "-euc", atHome, home, who.HomeDir}
	address := "git+ssh://" + who.Username + "@git.example.org" + w.pin + "#" + first
	fetched := map[string]string{"OPERATOR_MODULE_SOURCE": address, "VERSION_LAYERS": "resources=provider,effects=provider"}

	unknown := w.slipway(fetched, "operator-web")
	assert.Equal(t, unknown.code, report.Refused)
	assert.Assert(t, cmp.Contains(unknown.stderr, "Host key verification failed"))

	write("known_hosts", "git.example.org "+host)
	o := w.slipway(fetched, "operator-web")
	assert.Equal(t, o.code, report.Healthy)
	text, err := os.ReadFile(filepath.Join(strings.TrimSpace(o.stdout), "etc", "motd-of-check"))
	assert.NilError(t, err)
	assert.Equal(t, string(text), "pinned home=\n")
	assert.Equal(t, o.record.Layers[0].Revision, first)

	write("authorized", "")
	w.env["CACHE_DIR"] = t.TempDir()
	stranger := w.slipway(fetched, "operator-web")
	assert.Equal(t, stranger.code, report.Refused)
	assert.Assert(t, cmp.Contains(stranger.stderr, "Permission denied"))
}
