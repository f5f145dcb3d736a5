//go:build checks

package checks

import (
	"archive/tar"
	"encoding/pem"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"fediversity.eu/slipway/checks/incusd"
	"fediversity.eu/slipway/internal/incus"
	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/report"
)

func TestImagePublish(t *testing.T) {
	w := newIncusWorld(t)
	w.images()
	w.env["SELF_MODULE_SOURCE"] = ""
	w.env["IMAGE_STREAMS"] = filepath.Join(w.dir, "streams")
	w.env["TMPDIR"] = filepath.Join(w.dir, "tmp")
	assert.NilError(t, os.Mkdir(w.env["TMPDIR"], 0o700))

	plan := w.slipway(nil, "operator-image-plan")
	assert.Equal(t, plan.code, report.Healthy)
	assert.Assert(t, plan.record.Plan.Changes)
	assert.Assert(t, cmp.Contains(plan.stdout, "would send"))
	assert.Assert(t, cmp.Len(w.list("/1.0/images"), 0), "a plan sends nothing")

	// The upload is cut off: nothing is left of it, and the next goes through.
	narrow := w.narrow(4 << 20)
	cut := w.start(map[string]string{"INCUS_ADDRESS": "https://" + narrow.address}, "operator-image-publish")
	narrow.await(t)
	cut.stop()
	assert.Assert(t, cut.wait().code != report.Healthy)
	assert.Assert(t, cmp.Len(w.list("/1.0/images"), 0))
	assert.Assert(t, cmp.Len(w.list("/1.0/images/aliases"), 0))

	first := w.slipway(nil, "operator-image-publish")
	assert.Equal(t, first.code, report.Healthy)
	assert.Assert(t, first.record.Changed)
	fixed, fingerprint, _ := strings.Cut(strings.TrimSpace(first.stdout), " ")
	for _, name := range []string{"operator/base", fixed} {
		assert.Equal(t, w.alias(name), fingerprint)
	}
	assert.Equal(t, w.pulled("operator/base"), fingerprint, "who fetches from the folder gets the same image")

	again := w.slipway(nil, "operator-image-publish")
	assert.Equal(t, again.code, report.Healthy)
	assert.Assert(t, !again.record.Changed)
	assert.Assert(t, cmp.Contains(again.stderr, "nothing sent"))
	assert.Assert(t, cmp.Contains(again.stderr, "nothing written"))
	assert.Assert(t, cmp.Contains(w.slipway(nil, "operator-image-plan").stdout, "no changes"))

	// The name that moves was moved by somebody: it is moved back, and nothing sent.
	other := w.smallImage()
	status, fault := w.ask(w.admin, http.MethodPut, "/1.0/images/aliases/"+url.PathEscape("operator/base"), map[string]string{"target": other}, nil)
	assert.Equal(t, status, http.StatusOK, fault)
	moved := w.slipway(nil, "operator-image-publish")
	assert.Equal(t, moved.code, report.Healthy)
	assert.Assert(t, moved.record.Changed)
	assert.Assert(t, !strings.Contains(moved.stderr, "sending"))
	assert.Equal(t, w.alias("operator/base"), fingerprint)

	w.oldVersions(fingerprint, other)
	w.wrongFingerprint()
	w.emptyPasswords()
	left, err := os.ReadDir(w.env["TMPDIR"])
	assert.NilError(t, err)
	assert.Assert(t, cmp.Len(left, 0), "done, refused or cut off: nothing is left in the temporary folder")
}

// oldVersions publishes one version after the other, of which one is to stay: with it
// stays what has a name of somebody else's, and what an instance was made from. first
// is published already, and stranger is an image of nobody's.
func (w *incusWorld) oldVersions(first, stranger string) {
	w.t.Helper()
	module := func(name string) string {
		text, err := os.ReadFile(filepath.Join("..", "groups", "modules", name))
		assert.NilError(w.t, err)
		return string(text)
	}
	for _, name := range []string{"existing-host.nix", "incus-container.nix", "incus-vm.nix"} {
		w.write("modules/"+name, module(name))
	}
	next := func(n string, verb string) outcome {
		w.write("modules/incus-image.nix", strings.Replace(module("incus-image.nix"), "  documentation", "  environment.etc.version.text = \""+n+"\";\n  documentation", 1))
		o := w.slipway(map[string]string{"SELF_MODULE_SOURCE": w.source, "IMAGE_KEEP": "1"}, "operator-image-"+verb)
		assert.Equal(w.t, o.code, report.Healthy)
		return o
	}
	images := func() []string {
		all := w.list("/1.0/images")
		for i := range all {
			all[i] = filepath.Base(all[i])
		}
		return all
	}
	published := func(n string) string {
		_, fingerprint, _ := strings.Cut(strings.TrimSpace(next(n, "publish").stdout), " ")
		return fingerprint
	}
	plan := next("2", "plan")
	assert.Assert(w.t, cmp.Contains(plan.stdout, first))
	assert.Assert(w.t, cmp.Contains(plan.stdout, "would remove its version"))
	assert.Assert(w.t, slices.Contains(images(), first))
	second := published("2")
	assert.Assert(w.t, !slices.Contains(images(), first))
	assert.Assert(w.t, slices.Contains(images(), stranger))
	again := next("2", "publish")
	assert.Assert(w.t, !again.record.Changed)
	versions, err := filepath.Glob(filepath.Join(w.env["IMAGE_STREAMS"], "images", "operator", "base", "*", "*", "*"))
	assert.NilError(w.t, err)
	assert.Assert(w.t, cmp.Len(versions, 1))

	status, fault := w.ask(w.admin, http.MethodPost, "/1.0/images/aliases", map[string]string{"name": "golden", "target": second}, nil)
	assert.Equal(w.t, status, http.StatusCreated, fault)
	third := published("3")
	status, fault = w.ask(w.admin, http.MethodPost, "/1.0/instances", map[string]any{
		"name": "of-the-third", "source": map[string]string{"type": "image", "fingerprint": third},
		"devices": map[string]map[string]string{"root": {"type": "disk", "path": "/", "pool": incusd.Pool}},
	}, nil)
	assert.Assert(w.t, slices.Contains([]int{http.StatusOK, http.StatusAccepted}, status), fault)
	fourth := published("4")
	for _, stays := range []string{second, third, fourth, stranger} {
		assert.Assert(w.t, slices.Contains(images(), stays))
	}
	assert.Equal(w.t, w.alias("operator/base"), fourth)
}

// wrongFingerprint uploads what is not what it is said to be: the server refuses it.
func (w *incusWorld) wrongFingerprint() {
	w.t.Helper()
	dir := w.t.TempDir()
	files := incus.Files{Metadata: filepath.Join(dir, "metadata.tar"), Root: filepath.Join(dir, "root.tar")}
	assert.NilError(w.t, os.WriteFile(files.Metadata, archiveOf(w.t, "metadata.yaml", "architecture: x86_64\ncreation_date: 1\n"), 0o600))
	assert.NilError(w.t, os.WriteFile(files.Root, archiveOf(w.t, "other", "other"), 0o600))
	before := w.list("/1.0/images")
	front := w.forward()
	key, err := os.ReadFile(w.env["INCUS_CLIENT_KEY_FILE"])
	assert.NilError(w.t, err)
	client, err := incus.Keys{
		Address: env.URL(front), Server: env.Text(w.daemon.Certificate), Project: "default",
		Certificate: env.NewSecret(w.env["INCUS_CLIENT_CERTIFICATE"]), Key: env.NewSecret(string(key)),
	}.Connect(w.t.Context(), nil)
	assert.NilError(w.t, err)
	defer client.Close()
	_, err = client.Upload(w.t.Context(), files, strings.Repeat("0", 64), nil)
	assert.ErrorContains(w.t, err, "ingerprint")
	assert.DeepEqual(w.t, w.list("/1.0/images"), before)
}

// emptyPasswords has images made that anybody could log in to: one by its modules,
// and one by what lies under them.
func (w *incusWorld) emptyPasswords() {
	w.t.Helper()
	before := w.list("/1.0/images")
	w.write("modules/incus-image.nix", `{ modulesPath, ... }: { imports = [ "${modulesPath}/virtualisation/lxc-container.nix" ]; system.stateVersion = "25.05"; }`)
	open := w.slipway(map[string]string{"SELF_MODULE_SOURCE": w.source}, "operator-image-publish")
	assert.Equal(w.t, open.code, report.Refused)
	assert.Assert(w.t, cmp.Contains(open.stderr, "users.users.root.initialHashedPassword is empty"))

	machine := filepath.Join(w.env["NIXPKGS"], "machine", "root.tar")
	archive, err := os.OpenFile(machine, os.O_APPEND|os.O_WRONLY, 0)
	assert.NilError(w.t, err)
	pack := tar.NewWriter(archive)
	text := "root::20000:0:99999:7:::\n"
	assert.NilError(w.t, pack.WriteHeader(&tar.Header{Name: "./etc/shadow", Mode: 0o640, Size: int64(len(text)), Format: tar.FormatGNU}))
	_, err = pack.Write([]byte(text))
	assert.NilError(w.t, err)
	assert.NilError(w.t, pack.Flush())
	assert.NilError(w.t, archive.Close())
	under := w.slipway(nil, "operator-image-publish")
	assert.Equal(w.t, under.code, report.Refused)
	assert.Assert(w.t, cmp.Contains(under.stderr, "root has an empty password"))
	assert.DeepEqual(w.t, w.list("/1.0/images"), before)
}

// alias is what a name stands for.
func (w *incusWorld) alias(name string) string {
	w.t.Helper()
	var a struct{ Target string }
	status, fault := w.ask(w.admin, http.MethodGet, "/1.0/images/aliases/"+url.PathEscape(name), nil, &a)
	assert.Equal(w.t, status, http.StatusOK, fault)
	return a.Target
}

// pulled serves the folder, has the server fetch an image from there into a project
// of its own, and gives its fingerprint.
func (w *incusWorld) pulled(name string) string {
	w.t.Helper()
	status, fault := w.ask(w.admin, http.MethodPost, "/1.0/projects", map[string]any{"name": "mirror", "config": map[string]string{"features.images": "true"}}, nil)
	assert.Equal(w.t, status, http.StatusCreated, fault)
	web := httptest.NewUnstartedServer(http.FileServer(http.Dir(w.env["IMAGE_STREAMS"])))
	assert.NilError(w.t, web.Listener.Close())
	assert.NilError(w.t, w.daemon.Inside(func() (err error) {
		web.Listener, err = (&net.ListenConfig{}).Listen(w.t.Context(), "tcp", "127.0.0.1:0")
		return err
	}))
	web.StartTLS()
	defer web.Close()
	status, fault = w.ask(w.admin, http.MethodPost, "/1.0/images?project=mirror", map[string]any{"source": map[string]string{
		"type": "image", "mode": "pull", "protocol": "simplestreams", "server": web.URL, "alias": name,
		"certificate": string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: web.Certificate().Raw})),
	}}, nil)
	assert.Equal(w.t, status, http.StatusOK, fault)
	images := w.list("/1.0/images?project=mirror")
	assert.Equal(w.t, len(images), 1)
	return strings.TrimSuffix(filepath.Base(images[0]), "?project=mirror")
}

// narrow leads a port of the daemon's loopback to the daemon.
func (w *incusWorld) narrow(limit int64) *narrow {
	w.t.Helper()
	var listener net.Listener
	assert.NilError(w.t, w.daemon.Inside(func() (err error) {
		listener, err = (&net.ListenConfig{}).Listen(w.t.Context(), "tcp", "127.0.0.1:0")
		return err
	}))
	return newNarrow(w.t, listener, strings.TrimPrefix(incusd.Address, "https://"), w.daemon.Dial, limit)
}

// forward leads an address of this host's loopback to the daemon.
func (w *incusWorld) forward() string {
	w.t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(w.t.Context(), "tcp", "127.0.0.1:0")
	assert.NilError(w.t, err)
	return "https://" + newNarrow(w.t, listener, strings.TrimPrefix(incusd.Address, "https://"), w.daemon.Dial, 0).address
}
