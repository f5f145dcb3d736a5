//go:build checks

package checks

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"fediversity.eu/slipway/internal/child"
	"fediversity.eu/slipway/targets/report"
)

// layersWorld is a world whose operator pins a module source that differs in every
// layer from the one that is baked into the program.
type layersWorld struct {
	*world
	pin string // the folder of the operator's source
	git func(args ...string) string
}

// motd is the operator's web, as the system that is built from it shows.
const motd = `{ ... }: {
  environment.etc."motd-of-check".text = "%s home=${builtins.getEnv "HOME"}\n";
  system.stateVersion = "25.05";
}
`

func newLayersWorld(t *testing.T) *layersWorld {
	t.Helper()
	w := &layersWorld{world: newWorld(t)}
	w.pin = filepath.Join(w.dir, "pin")
	w.source = w.pin // where write writes
	delete(w.env, "SELF_MODULE_SOURCE")
	w.git = func(args ...string) string {
		t.Helper()
		own := append(pairs(w.env), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
		out, err := child.Command{Path: "git", Dir: w.pin, Env: own, Args: append([]string{"-c", "user.name=o", "-c", "user.email=o@example.org"}, args...)}.Output(t.Context())
		assert.NilError(t, err)
		return strings.TrimSpace(string(out))
	}
	w.write("pinned/web.nix", fmt.Sprintf(motd, "pinned"))
	w.write("module.json", w.module(func(group map[string]any) {
		layer := func(name string) map[string]any { return group[name].(map[string]any) }
		layer("machines")["web"] = map[string]any{"modules": []string{"pinned/web.nix"}}
		layer("resources")["web"] = map[string]any{"placement": map[string]any{"local": map[string]any{"memory_mib": 512}}}
		layer("effects")["dns"].(map[string]any)["zones"] = []any{map[string]any{"records": []any{map[string]any{"name": "pin", "type": "TXT", "values": []string{"pin"}}}}}
		layer("effects")["registrars"] = map[string]any{"delegations": []any{map[string]any{
			"domain": "pin.example.org", "registrar": "gandi", "unsigned": true,
			"name_servers": []any{map[string]any{"name": "ns.example.net"}, map[string]any{"name": "ns2.example.net"}},
		}}}
	}))
	return w
}

// module is the module.json of the operator's group as the program prints it, changed.
func (w *world) module(change func(group map[string]any)) string {
	w.t.Helper()
	printed, err := child.Command{Path: binary(w.t), Args: []string{"module", "operator"}, Env: pairs(w.env)}.Output(w.t.Context())
	assert.NilError(w.t, err)
	var document map[string]any
	assert.NilError(w.t, json.Unmarshal(printed, &document))
	change(document["groups"].(map[string]any)["operator"].(map[string]any))
	text, err := json.Marshal(document)
	assert.NilError(w.t, err)
	return string(text)
}

// sidesOf says in a line what the record has of each layer.
func sidesOf(r *report.Record) string {
	var list []string
	for _, l := range r.Layers {
		list = append(list, strings.TrimSpace(l.Layer+" "+l.Side+" "+strings.Join(l.Effects, ",")))
	}
	return strings.Join(list, "; ")
}

// TestContractLayersDecisions runs programs of each layer under every decision.
func TestContractLayersDecisions(t *testing.T) {
	w := newLayersWorld(t)
	tools := filepath.Join(w.dir, "octodns")
	assert.NilError(t, os.Mkdir(tools, 0o755))
	for _, name := range []string{"octodns-sync", "octodns-validate", "octodns-dump"} {
		assert.NilError(t, os.Symlink("/bin/true", filepath.Join(tools, name))) // the rendering is ours
	}
	base := map[string]string{
		"OPERATOR_MODULE_SOURCE": w.pin, "DNS_OCTODNS": filepath.Join(tools, "octodns-sync"), "WEB_ADDRESSES": "192.0.2.7",
		"REGISTRAR": "gandi", "DELEGATION_NAME_SERVERS": "ns.example.net", "DELEGATION_DNSKEY": "none",
	}
	// What each program says when its layer is the provider's, and the operator's.
	programs := []struct {
		name, layer        string
		provider, operator func(o outcome) bool
	}{
		{
			"operator-ssh-web-verify", "resources",
			func(o outcome) bool { return o.code == report.Usage && strings.Contains(o.stderr, "SSH_HOST_KEY") },
			func(o outcome) bool { return o.code == report.Refused && strings.Contains(o.stderr, "apply boots it") },
		},
		{
			"operator-dns-validate", "dns",
			func(o outcome) bool { return strings.Contains(o.stdout, "example.org.: 3 records") },
			func(o outcome) bool { return strings.Contains(o.stdout, "example.org.: 4 records") },
		},
		{
			"operator-registrars-validate", "registrars",
			func(o outcome) bool { return strings.HasPrefix(o.stdout, "example.org at gandi") },
			func(o outcome) bool { return strings.HasPrefix(o.stdout, "pin.example.org at gandi") },
		},
	}
	sides := []string{"", "provider", "operator"}
	for _, resources := range sides {
		for _, effects := range sides {
			for _, pinned := range []string{"", "dns"} {
				t.Run(fmt.Sprintf("resources=%s effects=%s PIN_EFFECT=%s", resources, effects, pinned), func(t *testing.T) {
					var decided []string
					if resources != "" {
						decided = append(decided, "resources="+resources)
					}
					if effects != "" {
						decided = append(decided, "effects="+effects)
					}
					base["VERSION_LAYERS"], base["PIN_EFFECT"] = strings.Join(decided, ","), pinned
					from := map[string]string{"resources": resources, "dns": effects, "registrars": effects}
					if pinned != "" {
						from["dns"], from["registrars"] = "operator", "provider"
					}
					refused := resources == "" || effects == "" && pinned == "" || effects == "provider" && pinned != ""
					for _, p := range programs {
						o := w.as(t).slipway(base, p.name)
						if refused {
							assert.Equal(t, o.code, report.Usage)
							assert.Assert(t, resources != "" || strings.Contains(o.stderr, "the layer resources differs"))
							assert.Assert(t, effects+pinned != "" || strings.Contains(o.stderr, "the layer effects differs"))
							assert.Assert(t, cmp.Contains(o.stderr, "VERSION_LAYERS=resources=operator,effects=provider"))
							continue
						}
						says := p.provider
						if from[p.layer] == "operator" {
							says = p.operator
						}
						assert.Assert(t, says(o), "%s of the %s", p.layer, from[p.layer])
						if o.code != report.Usage {
							want := "machines operator; resources " + resources + "; effects " + effects
							if pinned != "" {
								want = "machines operator; resources " + resources + "; effects operator dns; effects provider image,registrars,netbox"
							}
							assert.Equal(t, sidesOf(o.record), want)
							assert.Assert(t, cmp.Regexp("layers: machines.* from the operator: "+w.pin+", tree "+o.record.Layers[0].Hash, o.stderr))
						}
					}
				})
			}
		}
	}
}

// TestContractLayersImages builds an image whose module is called the same on both
// sides, and is another.
func TestContractLayersImages(t *testing.T) {
	w := newLayersWorld(t)
	w.images()
	w.write("modules/incus-image.nix", `throw "of the pin"`)
	w.env["OPERATOR_MODULE_SOURCE"] = w.pin
	for _, c := range []struct {
		decided, pinned, from string
		code                  report.Code
	}{
		{"resources=operator,effects=provider", "", "operator (baked in)", report.Healthy},
		{"resources=operator", "dns", "operator (baked in)", report.Healthy},
		{"resources=provider,effects=operator", "", w.pin, report.Refused},
		{"resources=provider", "image", w.pin, report.Refused},
	} {
		o := w.as(t).slipway(map[string]string{"VERSION_LAYERS": c.decided, "PIN_EFFECT": c.pinned}, "operator-image-build")
		assert.Equal(t, o.code, c.code)
		assert.Equal(t, strings.Contains(o.stderr, "of the pin"), c.from == w.pin)
		for _, l := range o.record.Layers {
			if l.Layer == "effects" && (len(l.Effects) == 0 || strings.Contains(strings.Join(l.Effects, ","), "image")) {
				assert.Equal(t, l.Source, c.from)
			}
		}
		if c.code == report.Healthy {
			assert.Equal(t, o.record.Source.Modules, c.from)
		}
	}
}

// TestContractLayersSources builds the system from each kind of module source.
func TestContractLayersSources(t *testing.T) {
	w := newLayersWorld(t)
	w.git("init", "--quiet", "-b", "main")
	w.git("add", ".")
	w.git("commit", "--quiet", "-m", "pinned")
	first := w.git("rev-parse", "HEAD")
	tarball, hash := packed(t, w.pin)
	served := httptest.NewServer(http.FileServer(http.Dir(w.dir)))
	defer served.Close()
	w.write("pinned/web.nix", fmt.Sprintf(motd, "later"))
	w.git("commit", "--quiet", "-am", "later")
	w.git("update-server-info")
	assert.NilError(t, os.WriteFile(filepath.Join(w.dir, "pin.tar.gz"), tarball, 0o644))

	builds := func(t *testing.T, key, address string) (outcome, string) {
		t.Helper()
		o := w.as(t).slipway(map[string]string{key: address, "VERSION_LAYERS": "resources=provider,effects=provider"}, "operator-web")
		assert.Equal(t, o.code, report.Healthy)
		text, err := os.ReadFile(filepath.Join(strings.TrimSpace(o.stdout), "etc", "motd-of-check"))
		assert.NilError(t, err)
		return o, string(text)
	}
	for _, c := range []struct{ name, address, revision, motd string }{
		{"a folder", w.pin, "", "later"},
		{"a tarball", filepath.Join(w.dir, "pin.tar.gz") + "#" + hash, "sha256-", "pinned"},
		{"a tarball over http", served.URL + "/pin.tar.gz#" + hash, "sha256-", "pinned"},
		{"a repository by its path", "git+" + w.pin + "#" + first, first, "pinned"},
		{"a repository by a file address", "git+file://" + w.pin + "#" + first, first, "pinned"},
		{"a repository over http, by a server that gives out only what has a name", "git+" + served.URL + "/pin/.git#" + first, first, "pinned"},
	} {
		t.Run(c.name, func(t *testing.T) {
			// A cache of its own: nothing was fetched before.
			before := w.env["CACHE_DIR"]
			w.env["CACHE_DIR"] = t.TempDir()
			t.Cleanup(func() { w.env["CACHE_DIR"] = before })
			o, text := builds(t, "OPERATOR_MODULE_SOURCE", c.address)
			assert.Equal(t, text, c.motd+" home=\n", "an evaluation sees no environment")
			assert.Equal(t, sidesOf(o.record), "machines operator; resources provider; effects provider")
			assert.Assert(t, strings.HasPrefix(o.record.Layers[0].Revision, c.revision))
			again, _ := builds(t, "OPERATOR_MODULE_SOURCE", c.address)
			assert.Assert(t, again.record.Source.Cached, "the same is evaluated twice")
			assert.Assert(t, !strings.Contains(again.stderr, "fetch:"), "the same is fetched twice")
		})
	}
	t.Run("as the provider's", func(t *testing.T) {
		o, text := builds(t, "SELF_MODULE_SOURCE", "git+"+w.pin+"#"+first)
		assert.Equal(t, text, "pinned home=\n")
		assert.Equal(t, sidesOf(o.record), "machines provider; resources provider; effects provider")
	})
	t.Run("none", func(t *testing.T) {
		o := w.as(t).slipway(nil, "operator-ssh-web-verify")
		assert.Equal(t, o.code, report.Usage) // no SSH_HOST: what is baked in is a machine elsewhere
	})

	other := strings.Repeat("0", 40)
	for _, c := range []struct {
		name, address string
		code          report.Code
		says          []string
	}{
		{"no hash", filepath.Join(w.dir, "pin.tar.gz"), report.Usage, []string{"OPERATOR_MODULE_SOURCE", "is a tarball without a hash", "TARBALL#sha256-"}},
		{"no revision", "git+" + w.pin, report.Usage, []string{"OPERATOR_MODULE_SOURCE", "is a git repository without a revision", "git+REPOSITORY#REVISION"}},
		{"a branch", "git+" + w.pin + "#main", report.Usage, []string{"which may move"}},
		{"a token", "git+https://geheim@example.org/m#" + first, report.Usage, []string{"has a user or password in it"}},
		{"another revision", "git+" + w.pin + "#" + other, report.Refused, []string{"git could not fetch it"}},
		{"another hash", filepath.Join(w.dir, "pin.tar.gz") + "#" + strings.Repeat("0", 64), report.Refused, []string{"it is not that file"}},
		{"another hash over http", served.URL + "/pin.tar.gz#" + strings.Repeat("0", 64), report.Refused, []string{"hash mismatch"}},
		{"a folder that is not there", w.pin + "-none", report.Usage, []string{"no such file"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := w.as(t).slipway(map[string]string{"OPERATOR_MODULE_SOURCE": c.address}, "operator-web")
			assert.Equal(t, o.code, c.code)
			for _, text := range c.says {
				assert.Assert(t, cmp.Contains(o.stderr, text))
			}
			assert.Equal(t, o.stdout, "")
		})
	}
}

// TestContractLayersModules gives module.json files that can't be used.
func TestContractLayersModules(t *testing.T) {
	w := newLayersWorld(t)
	whole := map[string]string{"OPERATOR_MODULE_SOURCE": w.pin, "VERSION_LAYERS": "resources=operator,effects=operator"}
	for _, c := range []struct{ name, module, program, says string }{
		{"a newer version", `{"version":2,"layers":{}}`, "operator-web", "it is of format version 2, and this program reads 1: a newer program is needed"},
		{"a field too many", `{"version":1,"groups":{},"shells":[]}`, "operator-web", `unknown field "shells"`},
		{"no such group", `{"version":1,"groups":{"club":{}}}`, "operator-web", "it declares no group operator; it has club"},
		{"a module that is not there", w.module(func(group map[string]any) {
			group["machines"].(map[string]any)["web"] = map[string]any{"modules": []string{"none.nix"}}
		}), "operator-web", "none.nix"},
		{"a module elsewhere", w.module(func(group map[string]any) {
			group["machines"].(map[string]any)["web"] = map[string]any{"modules": []string{"../source/web.nix"}}
		}), "operator-web", "is not below the source"},
		{"an effect that is gone", w.module(func(group map[string]any) {
			delete(group["effects"].(map[string]any), "registrars")
		}), "operator-registrars-validate", "nothing is declared for registrars"},
		{"a zone that is wrong", w.module(func(group map[string]any) {
			group["effects"].(map[string]any)["dns"] = map[string]any{"zones": []any{map[string]any{"records": []any{map[string]any{"name": "a b", "type": "TXT", "values": []string{"x"}}}}}}
		}), "operator-dns-validate", "a b"},
		{"a verb that its placement lacks", w.module(func(group map[string]any) {
			group["resources"].(map[string]any)["web"] = map[string]any{"placement": map[string]any{"moon": map[string]any{}}}
		}), "operator-ssh-web-verify", `unknown kind "moon"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			w.write("module.json", c.module)
			o := w.as(t).slipway(whole, c.program)
			assert.Equal(t, o.code, report.Usage)
			assert.Assert(t, cmp.Contains(o.stderr, c.says))
		})
	}
}

// packed makes a tarball of a folder, without what version control keeps, and gives
// its hash.
func packed(t *testing.T, dir string) ([]byte, string) {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	assert.NilError(t, w.AddFS(os.DirFS(dir)))
	assert.NilError(t, w.Close())
	assert.NilError(t, z.Close())
	return b.Bytes(), fmt.Sprintf("%x", sha256.Sum256(b.Bytes()))
}
