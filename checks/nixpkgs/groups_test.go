package nixpkgs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/golden"
)

// hosting is what a provider may say of itself.
var hosting = map[string]any{
	"authorizedKeys":  []any{"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKtEstKeyTestKeyTestKeyTestKeyTestKeyTestKe test"},
	"privateNetworks": []any{"10.0.0.0/24", "fd00::/64"},
	"sites":           map[string]any{"git.example.org": "http://10.0.0.5:80"},

	"incusAdministrators": []any{certificate("QQ==")},
	"incusProjects":       map[string]any{"tenant": map[string]any{"certificates": []any{certificate("Qg==")}, "jumpKeys": []any{jumpKey}}},
	"incusNetwork":        "10.99.0.1/24",
}

// jumpKey is the form of a key.
const jumpKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKtEstKeyTestKeyTestKeyTestKeyTestKeyTestKe"

// certificate is the form of one.
func certificate(body string) string {
	return "-----BEGIN CERTIFICATE-----\n" + body + "\n-----END CERTIFICATE-----\n"
}

// evaluationLimit is how many functions an evaluation may call: ten times as many as
// the largest does. A module system that grew quadratic would not pass.
const evaluationLimit = 670_000

func TestDeclaredMachinesEvaluateAndBuild(t *testing.T) {
	n := newNix(t)
	source, err := filepath.Abs("../../groups")
	assert.NilError(t, err)
	machines, err := filepath.Glob(filepath.Join(source, "*", "*.nix"))
	assert.NilError(t, err)
	built := 0
	for _, path := range machines {
		module, err := filepath.Rel(source, path)
		assert.NilError(t, err)
		if filepath.Dir(module) == "modules" {
			continue
		}
		built++
		t.Run(strings.TrimSuffix(strings.ReplaceAll(module, "/", "-"), ".nix"), func(t *testing.T) {
			s := system{source: source, modules: []string{module}, hosting: hosting}
			_, said, calls, err := n.instantiate(t, s)
			assert.NilError(t, err)
			assert.Assert(t, calls > 0 && calls < evaluationLimit, "evaluation called %d functions", calls)
			assert.Assert(t, !strings.Contains(said, "warning: The option"), said)
			toplevel := n.build(t, s)
			for _, name := range []string{
				"activate", "dry-activate", "init", "etc", "sw", "nixos-version", "system", "kernel", "initrd", "kernel-modules", "kernel-params",
				"init-interface-version", "switch-inhibitors", "bin/switch-to-configuration", "specialisation",
			} {
				_, err := os.Stat(filepath.Join(toplevel, name))
				assert.NilError(t, err)
			}
			golden.Assert(t, units(t, toplevel), filepath.Base(t.Name())+".golden")
		})
	}
	assert.Equal(t, built, 7)
}

func TestWrongFactsOfAnIncusHostAreRefused(t *testing.T) {
	n := newNix(t)
	source, err := filepath.Abs("../../groups")
	assert.NilError(t, err)
	for name, test := range map[string]struct {
		facts map[string]any
		says  string
	}{
		"a key in the place of a certificate": {
			map[string]any{"incusAdministrators": []any{"-----BEGIN PRIVATE KEY-----\nQQ==\n-----END PRIVATE KEY-----\n"}},
			"slipway.incusHost.administrators",
		},
		"a key behind a certificate": {
			map[string]any{"incusAdministrators": []any{certificate("QQ==") + "-----BEGIN PRIVATE KEY-----\nQQ==\n-----END PRIVATE KEY-----\n"}},
			"slipway.incusHost.administrators",
		},
		"an operator who is an administrator": {
			map[string]any{
				"incusAdministrators": []any{certificate("QQ==")},
				"incusProjects":       map[string]any{"tenant": map[string]any{"certificates": []any{certificate("\nQQ== \r")}}},
			},
			"it can't be both",
		},
		"an operator in the administrators' project": {
			map[string]any{"incusProjects": map[string]any{"default": map[string]any{}}},
			`the project "default" is the administrators'`,
		},
		"a project that is a path": {
			map[string]any{"incusProjects": map[string]any{"a/b": map[string]any{}}},
			"a project is called by",
		},
		"a key with an option of its own": {
			map[string]any{"incusProjects": map[string]any{"tenant": map[string]any{"jumpKeys": []any{`command="/bin/sh" ` + jumpKey}}}},
			"slipway.incusHost.projects.tenant.jumpKeys",
		},
		"two keys in one": {
			map[string]any{"incusProjects": map[string]any{"tenant": map[string]any{"jumpKeys": []any{jumpKey + " x\n" + jumpKey}}}},
			"slipway.incusHost.projects.tenant.jumpKeys",
		},
		"a setting that there is not": {
			map[string]any{"incusProjects": map[string]any{"tenant": map[string]any{"certificate": certificate("QQ==")}}},
			"slipway.incusHost.projects.tenant.certificate' does not exist",
		},
		"a network without its prefix": {map[string]any{"incusNetwork": "10.0.0.1"}, "slipway.incusHost.address"},
	} {
		t.Run(name, func(t *testing.T) {
			_, said, _, err := n.instantiate(t, system{source: source, modules: []string{"hypervisor/hv1.nix"}, hosting: test.facts})
			assert.Assert(t, err != nil)
			assert.Assert(t, strings.Contains(said, test.says), said)
		})
	}
}

// A machine of a group that deploys to Incus evaluates as one there, too.
func TestDeclaredMachinesEvaluateOnIncus(t *testing.T) {
	n := newNix(t)
	source, err := filepath.Abs("../../groups")
	assert.NilError(t, err)
	for _, placement := range []string{"incus-container", "incus-vm"} {
		for _, module := range []string{"operator/db.nix", "hostingprovider/gateway.nix", "modules/incus-image.nix"} {
			t.Run(placement+" "+module, func(t *testing.T) {
				s := system{source: source, modules: []string{module}, hosting: hosting, placement: placement}
				_, _, _, err := n.instantiate(t, s)
				assert.NilError(t, err)
				var password string
				assert.NilError(t, n.value(t, s, "config.users.users.root.initialHashedPassword", &password))
				assert.Equal(t, password, "!", "NixOS's own images let everybody in")
			})
		}
	}
}

// units is the text of all units of a system and where they are wanted, with
// hashes of the store and the common PATH left out.
func units(t *testing.T, toplevel string) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(filepath.Join(toplevel, "etc/systemd/system"))
	assert.NilError(t, err)
	var parts []string
	assert.NilError(t, filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if target, err := os.Readlink(path); err == nil {
			parts = append(parts, "== "+name+" -> "+target+"\n")
			return nil
		}
		text, err := os.ReadFile(path)
		parts = append(parts, "== "+name+"\n"+normal(string(text)))
		return err
	}))
	sort.Strings(parts)
	return strings.Join(parts, "\n")
}

var (
	storeHash = regexp.MustCompile(`/nix/store/[a-z0-9]{32}-`)
	unitPath  = regexp.MustCompile(`(?m)^Environment="PATH=.*\n`)
)

func normal(text string) string {
	return storeHash.ReplaceAllString(unitPath.ReplaceAllString(text, ""), "/nix/store/…-")
}
