//go:build checks

package checks

import (
	"context"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"
	"gotest.tools/v3/poll"

	"fediversity.eu/slipway/checks/guest"
	"fediversity.eu/slipway/checks/openbao"
	"fediversity.eu/slipway/checks/port"
	"fediversity.eu/slipway/checks/providers"
	"fediversity.eu/slipway/internal/child"
	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/report"
)

// The secrets of this check: none of them may be where anybody reads.
const (
	adminSecret = "of-the-admin-4711"
	ownerSecret = "of-the-owner-4712"
	nextSecret  = "of-the-owner-4713"
	mountSecret = "of-the-mounts-4714"
)

// runs runs a server until the test ends.
func runs(t *testing.T, c child.Command) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	c.Orphan = syscall.SIGINT
	go func() {
		defer close(ended)
		_ = c.Run(ctx)
	}()
	t.Cleanup(func() { stop(); <-ended })
}

// database is a PostgreSQL of this check's own.
type database struct{ bin, port string }

func newDatabase(t *testing.T) database {
	t.Helper()
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin")
	assert.NilError(t, err)
	if len(found) == 0 {
		t.Skip("missing part: postgresql")
	}
	d := database{bin: found[len(found)-1], port: strconv.Itoa(port.Keep(t))}
	dir := t.TempDir()
	secret := filepath.Join(dir, "secret")
	assert.NilError(t, os.WriteFile(secret, []byte(adminSecret), 0o600))
	// PostgreSQL does not run as root.
	unprivileged := func(name string, args ...string) child.Command {
		c := child.Command{Path: filepath.Join(d.bin, name), Args: args, Env: env.Process().Child(nil), Signal: syscall.SIGINT}
		if os.Geteuid() == 0 {
			c.Args = append([]string{"--user", "--map-user=1000", "--map-group=1000", "--", c.Path}, args...)
			c.Path = "unshare"
		}
		return c
	}
	data := filepath.Join(dir, "data")
	assert.NilError(t, unprivileged("initdb", "-D", data, "-U", "postgres", "-A", "scram-sha-256", "--pwfile", secret, "--no-sync", "--locale=C.UTF-8").Run(t.Context()))
	runs(t, unprivileged("postgres", "-D", data, "-k", dir, "-p", d.port, "-c", "listen_addresses=127.0.0.1", "-c", "fsync=off"))
	poll.WaitOn(t, func(poll.LogT) poll.Result {
		if out, err := d.sql(t, "postgres", adminSecret, "postgres", "SELECT 1"); err != nil {
			return poll.Continue("%s", out)
		}
		return poll.Success()
	}, poll.WithTimeout(5*time.Minute))
	return d
}

// sql is what the server answers to somebody.
func (d database) sql(t *testing.T, who, secret, name, sql string) (string, error) {
	t.Helper()
	out, err := child.Command{
		Path: filepath.Join(d.bin, "psql"), Args: []string{"-XAtq", "-h", "127.0.0.1", "-p", d.port, "-U", who, "-d", name, "-c", sql},
		Env: env.Process().Child(map[string]string{"PGPASSWORD": secret}),
	}.Output(t.Context())
	return strings.TrimSpace(string(out)), err
}

// newBao runs an OpenBao in memory and gives its address and what it mounts.
func newBao(t *testing.T) (address string, mounts func() string) {
	t.Helper()
	_, _, cache := given(t)
	program, err := openbao.Install(t.Context(), env.Process(), filepath.Join(cache, "tools"))
	assert.NilError(t, err)
	listen := port.Address(port.Keep(t))
	runs(t, child.Command{
		Path: program, Args: []string{"server", "-dev", "-dev-no-store-token", "-dev-listen-address=" + listen},
		Env: env.Process().Child(map[string]string{"BAO_DEV_ROOT_TOKEN_ID": mountSecret, "HOME": t.TempDir()}), Signal: syscall.SIGINT,
	})
	mounts = func() string {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+listen+"/v1/sys/mounts", nil)
		assert.NilError(t, err)
		request.Header.Set("X-Vault-Token", mountSecret)
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return ""
		}
		defer func() { _ = response.Body.Close() }()
		var text strings.Builder
		_ = response.Write(&text)
		return text.String()
	}
	poll.WaitOn(t, func(poll.LogT) poll.Result {
		if !strings.Contains(mounts(), "cubbyhole/") {
			return poll.Continue("OpenBao does not answer")
		}
		return poll.Success()
	}, poll.WithTimeout(5*time.Minute))
	return "http://" + listen, mounts
}

func TestDeploymentTFInherent(t *testing.T) {
	w := newLayersWorld(t)
	db := newDatabase(t)
	bao, mounts := newBao(t)
	mirror := filepath.Join(w.dir, "mirror")
	for _, p := range []struct{ source, version string }{{"cyrilgdn/postgresql", "1.26.0"}, {"hashicorp/vault", "5.3.0"}} {
		program, err := providers.StandIn(t.Context(), filepath.Base(p.source), t.TempDir())
		assert.NilError(t, err)
		assert.NilError(t, providers.Place(mirror, p.source, p.version, program))
	}
	w.write("pinned/web.nix", trivial)
	declared := func(name, owner, mount string) string {
		return w.module(func(group map[string]any) {
			group["machines"].(map[string]any)["web"] = map[string]any{"modules": []string{"pinned/web.nix"}}
			group["resources"].(map[string]any)["web"] = map[string]any{
				"placement": map[string]any{"external": map[string]any{}},
				"database":  map[string]any{"name": name, "owner": owner}, "mount": map[string]any{"path": mount},
			}
		})
	}
	w.write("module.json", declared("forge", "forgejo", "operator/web"))
	w.boot(guest.Container)
	b := w.stateful("web")
	maps.Copy(w.env, map[string]string{
		"OPERATOR_MODULE_SOURCE": w.pin, "VERSION_LAYERS": "resources=operator,effects=provider", "TOFU_PROVIDER_MIRROR": mirror,
		"DATABASE_HOST": "127.0.0.1", "DATABASE_PORT": db.port, "DATABASE_TLS": "disable",
		"DATABASE_ADMIN_PASSWORD": adminSecret, "DATABASE_PASSWORD": ownerSecret, "VAULT_ADDR": bao, "VAULT_TOKEN": mountSecret,
	})
	body := func() string { return b.Get(t.Context()).Body }
	owned := func(t *testing.T, secret string) bool {
		t.Helper()
		out, err := db.sql(t, "forgejo", secret, "forge", "CREATE TABLE IF NOT EXISTS kept (n int); SELECT current_user")
		return err == nil && out == "forgejo"
	}

	off := w.slipway(map[string]string{"VERSION_LAYERS": "resources=provider,effects=provider", "STATE_PHASE": "cold"}, "operator-tf-web-plan")
	assert.Equal(t, off.code, report.Healthy)
	assert.Assert(t, !strings.Contains(off.stdout, "postgresql"), "nothing of it where nobody declares it")
	missing := w.slipway(map[string]string{"DATABASE_PASSWORD": "", "VAULT_TOKEN": ""}, "operator-tf-web-apply")
	assert.Equal(t, missing.code, report.Usage)
	assert.Assert(t, cmp.Contains(missing.stderr, "DATABASE_PASSWORD: missing"))
	assert.Assert(t, cmp.Contains(missing.stderr, "VAULT_TOKEN: missing"))

	mute := func() string {
		listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
		assert.NilError(t, err)
		t.Cleanup(func() { _ = listener.Close() })
		return strconv.Itoa(listener.Addr().(*net.TCPAddr).Port)
	}
	silent := w.slipway(map[string]string{"STATE_PHASE": "cold", "DATABASE_PORT": mute(), "VAULT_ADDR": "http://127.0.0.1:" + mute()}, "operator-tf-web-apply")
	assert.Equal(t, silent.code, report.Unknown)
	for _, key := range []string{"DATABASE_HOST", "VAULT_ADDR"} {
		assert.Assert(t, cmp.Contains(silent.stderr, key))
	}
	slashed := w.slipway(map[string]string{"DATABASE_PASSWORD": `of-the\owner`}, "operator-tf-web-apply")
	assert.Equal(t, slashed.code, report.Usage)
	assert.Assert(t, cmp.Contains(slashed.stderr, "DATABASE_PASSWORD: holds a backslash"))

	plan := w.slipway(cold, "operator-tf-web-plan")
	assert.Equal(t, plan.code, report.Healthy)
	for _, address := range []string{"postgresql_role.web", "postgresql_database.web", "vault_mount.web", "slipway_machine.web"} {
		assert.Assert(t, cmp.Contains(plan.stdout, address+" will be created"))
	}
	first := w.slipway(cold, "operator-tf-web-apply")
	assert.Equal(t, first.code, report.Healthy)
	assert.Equal(t, *first.record.State.Plan, report.Counts{Changes: true, Add: 4})
	assert.Assert(t, owned(t, ownerSecret))
	assert.Assert(t, cmp.Contains(mounts(), `"operator/web/"`))
	assert.Assert(t, cmp.Contains(body(), "password_wo"), "the state is in clear, so that one can see what is not in it")
	far := filepath.Join(w.dir, strings.Repeat("d", 102)) // longer than the paths of sockets may be
	assert.NilError(t, os.Mkdir(far, 0o700))
	again := w.slipway(map[string]string{"TMPDIR": far, "STATE_DIR": filepath.Join(far, "state")}, "operator-tf-web-apply")
	assert.Equal(t, again.code, report.Healthy)
	assert.Assert(t, !again.record.State.Plan.Changes)
	assert.Assert(t, !strings.Contains(again.stderr, "rift"), "that what was unset reads as empty is none: %s", again.stderr)

	t.Run("another name is given in place", func(t *testing.T) {
		w := w.as(t)
		w.write("module.json", declared("forge2", "forgejo2", "operator/web2"))
		t.Cleanup(func() { w.write("module.json", declared("forge", "forgejo", "operator/web")) })
		o := w.slipway(nil, "operator-tf-web-plan")
		assert.Equal(t, o.code, report.Healthy)
		assert.Equal(t, *o.record.State.Plan, report.Counts{Changes: true, Change: 3})
	})
	t.Run("a new password", func(t *testing.T) {
		same := w.as(t).slipway(map[string]string{"DATABASE_PASSWORD": nextSecret}, "operator-tf-web-apply")
		assert.Equal(t, same.code, report.Healthy)
		assert.Assert(t, owned(t, ownerSecret), "another password alone changes nothing")
		o := w.as(t).slipway(map[string]string{"DATABASE_PASSWORD": nextSecret, "DATABASE_PASSWORD_VERSION": "2"}, "operator-tf-web-apply")
		assert.Equal(t, o.code, report.Healthy)
		assert.Assert(t, owned(t, nextSecret))
		assert.Assert(t, !owned(t, ownerSecret))
		w.env["DATABASE_PASSWORD"], w.env["DATABASE_PASSWORD_VERSION"] = nextSecret, "2"
	})
	t.Run("a database that is gone is missed", func(t *testing.T) {
		_, err := db.sql(t, "postgres", adminSecret, "postgres", "DROP DATABASE forge")
		assert.NilError(t, err)
		o := w.as(t).slipway(nil, "operator-tf-web-plan")
		assert.Assert(t, cmp.Contains(o.stdout, "postgresql_database.web will be created"))
		assert.Equal(t, w.as(t).slipway(nil, "operator-tf-web-apply").code, report.Healthy)
		assert.Assert(t, owned(t, nextSecret))
	})
	t.Run("no secret is anywhere", func(t *testing.T) {
		texts := []string{body(), plan.stdout, plan.stderr, first.stderr, again.stderr}
		assert.NilError(t, filepath.WalkDir(w.env["CACHE_DIR"], func(path string, entry fs.DirEntry, err error) error {
			if err != nil || !entry.Type().IsRegular() {
				return err
			}
			text, err := os.ReadFile(path)
			texts = append(texts, string(text))
			return err
		}))
		for _, secret := range []string{adminSecret, ownerSecret, nextSecret, mountSecret} {
			for _, text := range texts {
				assert.Assert(t, !strings.Contains(text, secret), "%s in %.200s", secret, text)
			}
		}
	})
	t.Run("declared no more it is refused, and forgotten if told so", func(t *testing.T) {
		off := map[string]string{"VERSION_LAYERS": "resources=provider,effects=provider"}
		before := body()
		for _, program := range []string{"operator-tf-web-plan", "operator-tf-web-apply", "operator-tf-web-refresh", "operator-tf-web-destroy"} {
			o := w.as(t).slipway(off, program)
			assert.Equal(t, o.code, report.Refused, program)
			assert.Assert(t, cmp.Contains(o.stderr, "STATE_FORGET=postgresql_database.web,postgresql_role.web,vault_mount.web"))
			assert.Assert(t, !strings.Contains(o.stderr, "STATE_REMOVE="), "nobody could")
		}
		assert.Equal(t, w.as(t).slipway(off, "operator-tf-web-state-list").code, report.Healthy)
		assert.Equal(t, body(), before)
		off["STATE_FORGET"] = "postgresql_database.web,postgresql_role.web,vault_mount.web"
		o := w.as(t).slipway(off, "operator-tf-web-plan")
		assert.Equal(t, o.code, report.Healthy)
		assert.Assert(t, cmp.Contains(o.stdout, "postgresql_database.web will be forgotten, and stays where it is"))
		assert.Equal(t, body(), before)
		for range 2 { // the second finds nothing to forget
			assert.Equal(t, w.as(t).slipway(off, "operator-tf-web-apply").code, report.Healthy)
			assert.Equal(t, w.as(t).slipway(off, "operator-tf-web-state-list").stdout, "slipway_machine.web\n")
		}
		assert.Assert(t, owned(t, nextSecret))
		assert.Assert(t, cmp.Contains(mounts(), `"operator/web/"`))
		for _, known := range [][]string{{"vault_mount.web", "operator/web"}, {"postgresql_role.web", "forgejo"}, {"postgresql_database.web", "forge"}} {
			assert.Equal(t, w.as(t).slipway(nil, "operator-tf-web-import", known[0], known[1]).code, report.Healthy)
		}
		assert.Equal(t, w.as(t).slipway(nil, "operator-tf-web-apply").code, report.Healthy)
	})
	t.Run("giving up the state leaves it", func(t *testing.T) {
		o := w.as(t).slipway(nil, "operator-tf-web-destroy")
		assert.Equal(t, o.code, report.Healthy)
		assert.Equal(t, b.Get(t.Context()).Status, http.StatusNotFound)
		assert.Assert(t, owned(t, nextSecret))
		assert.Assert(t, cmp.Contains(mounts(), `"operator/web/"`))
	})
	t.Run("what is there is taken in, and not made a second time", func(t *testing.T) {
		o := w.as(t).slipway(cold, "operator-tf-web-apply")
		assert.Equal(t, o.code, report.Failed)
		assert.Assert(t, cmp.Contains(o.stderr, "already exists"))
		assert.Assert(t, owned(t, nextSecret))
		for _, known := range [][]string{{"vault_mount.web", "operator/web"}, {"postgresql_role.web", "forgejo"}, {"postgresql_database.web", "forge"}} {
			assert.Equal(t, w.as(t).slipway(cold, "operator-tf-web-import", known[0], known[1]).code, report.Healthy)
		}
		assert.Equal(t, w.as(t).slipway(nil, "operator-tf-web-apply").code, report.Healthy)
		assert.Assert(t, owned(t, nextSecret))
		again := w.as(t).slipway(nil, "operator-tf-web-plan")
		assert.Assert(t, !again.record.State.Plan.Changes)
	})
}
