//go:build checks

package checks

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/checks/guest"
	"fediversity.eu/slipway/internal/child"
	"fediversity.eu/slipway/targets/report"
)

// badInput is one thing that users get wrong.
type badInput struct {
	name    string
	program string // empty means the deployment
	change  map[string]string
	module  string // instead of the trivial one
	prepare string // script on the guest
	undo    string
	code    report.Code
	says    []string
}

func TestDeploymentBadInput(t *testing.T) {
	w := newWorld(t)
	keygen := func(name string, args ...string) string {
		path := filepath.Join(w.dir, name)
		err := child.Command{
			Path: "ssh-keygen", Env: pairs(w.env), Args: append([]string{"-q", "-f", path}, args...),
		}.Run(t.Context())
		assert.NilError(t, err)
		return path
	}
	public := func(path string) string {
		text, err := os.ReadFile(path + ".pub")
		assert.NilError(t, err)
		return string(text)
	}
	other := keygen("other", "-t", "ed25519", "-N", "")
	rsa := keygen("rsa", "-t", "rsa", "-N", "")
	locked := keygen("locked", "-t", "ed25519", "-N", "a passphrase")
	inline, err := os.ReadFile(other)
	assert.NilError(t, err)

	before := []badInput{
		{
			name: "unknown program", program: "operator-ssh-wbe-apply", code: report.Usage,
			says: []string{`unknown program "operator-ssh-wbe-apply"`, "operator-ssh-web-apply"},
		},
		{
			name: "missing and malformed keys at once", code: report.Usage,
			change: map[string]string{
				"SSH_HOST": "", "SSH_PORT": "70000", "DNS_DOMAIN": "", "NIXPKGS": "", "VERDICT_TIMEOUT": "5 minutes",
			},
			says: []string{"SSH_HOST", "SSH_HOST_KEY", "SSH_PORT", "70000", "1 to 65535", "DNS_DOMAIN", "NIXPKGS", "VERDICT_TIMEOUT", "5 minutes"},
		},
		{name: "port 0", change: map[string]string{"SSH_PORT": "0"}, code: report.Usage, says: []string{"SSH_PORT", "1 to 65535"}},
		{name: "port abc", change: map[string]string{"SSH_PORT": "abc"}, code: report.Usage, says: []string{"SSH_PORT", "abc"}},
		{
			name: "secret given twice", code: report.Usage,
			change: map[string]string{"SSH_KEY": string(inline), "SSH_KEY_FILE": other, "SSH_HOST": "127.0.0.1", "SSH_HOST_KEY": public(other)},
			says:   []string{"SSH_KEY", "SSH_KEY_FILE"},
		},
	}
	for _, c := range before {
		t.Run(c.name, func(t *testing.T) { w.as(t).refused(c) })
	}

	g := w.boot(guest.Container)
	deployed := w.slipway(nil, "operator-ssh-web-apply")
	assert.Equal(t, deployed.code, report.Healthy)
	for _, c := range []badInput{
		{
			name: "key with a passphrase", change: map[string]string{"SSH_KEY_FILE": locked}, code: report.Usage,
			says: []string{"passphrase", "agent"},
		},
		{
			name: "public key for a private one", change: map[string]string{"SSH_KEY_FILE": rsa + ".pub"}, code: report.Usage,
			says: []string{"SSH_KEY", "public key"},
		},
		{
			name: "key that does not open", change: map[string]string{"SSH_KEY_FILE": other}, code: report.Refused,
			says: []string{"login refused", "root", "SHA256:"},
		},
		{
			name: "host key that differs", change: map[string]string{"SSH_HOST_KEY": public(other)}, code: report.Refused,
			says: []string{"host key changed", "SHA256:"},
		},
		{
			name: "host key of another type", change: map[string]string{"SSH_HOST_KEY": public(rsa)}, code: report.Refused,
			says: []string{"another type", "ssh-rsa", "ssh-ed25519"},
		},
		{
			name: "nobody listens", change: map[string]string{"SSH_PORT": "1"}, code: report.Unknown,
			says: []string{"connection refused", "127.0.0.1:1"},
		},
		{
			name: "not NixOS", code: report.Refused, says: []string{"not NixOS", "debian"},
			prepare: "mv /etc/NIXOS /etc/NIXOS.away; cp -P /etc/os-release /etc/os-release.away; rm /etc/os-release; echo ID=debian > /etc/os-release",
			undo:    "mv /etc/NIXOS.away /etc/NIXOS; rm /etc/os-release; mv /etc/os-release.away /etc/os-release",
		},
		{
			name: "wrong architecture", code: report.Refused, says: []string{"aarch64", "x86_64-linux"},
			prepare: "mkdir -p /usr/local/sbin; printf '#!/bin/sh\\necho aarch64\\n' > /usr/local/sbin/uname; chmod +x /usr/local/sbin/uname",
			undo:    "rm /usr/local/sbin/uname",
		},
		{
			name: "no space on the machine", code: report.Refused, says: []string{"needed", "free", "nix-collect-garbage"},
			module:  strings.ReplaceAll(trivial, `.text = "first\n"`, `.source = ./large`),
			prepare: "free=$(df -Pk /nix/store | tail -n 1 | tr -s ' ' | cut -d' ' -f4); fallocate -l $((free - 4096))K /filler",
			undo:    "rm /filler",
		},
		{
			name: "a module with a syntax error", code: report.Refused, says: []string{"syntax error", "operator/web.nix:3:"},
			module: "{ pkgs, ... }:\n{\n  systemd.services = ;\n}\n",
		},
		{
			name: "an option that does not exist", code: report.Refused, says: []string{"services.nginks", "does not exist", "operator/web.nix"},
			module: "{\n  services.nginks.enable = true;\n}\n",
		},
		{
			name: "a system that does not build", code: report.Refused, says: []string{"build the system", "nix-store --read-log"},
			module: strings.ReplaceAll(trivial, `.text = "first\n"`, `.source = pkgs.runCommand "broken" { } "exit 1"`),
		},
		{
			name: "no Nix here", change: map[string]string{"PATH": "/nonexistent"}, code: report.Refused,
			says: []string{"find Nix", "install Nix 2.8 or later"},
		},
		{
			name: "nixpkgs that is none", change: map[string]string{"NIXPKGS": w.dir}, code: report.Usage,
			says: []string{"NIXPKGS", "nixos/lib/eval-config.nix"},
		},
		{
			name: "facts that are no JSON", change: map[string]string{"HOSTING_CONFIG": "{oops"}, code: report.Usage,
			says: []string{"HOSTING_CONFIG", "JSON object"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := w.as(t)
			w.write("operator/large", strings.Repeat("a line of a large file\n", 1<<20))
			w.write("operator/web.nix", trivial)
			if c.module != "" {
				w.write("operator/web.nix", c.module)
			}
			if c.prepare != "" {
				w.on(g, c.prepare)
				defer w.on(g, c.undo)
			}
			w.refused(c)
			assert.Equal(t, w.on(g, "readlink -f /run/current-system; readlink -f /nix/var/nix/profiles/system"),
				deployed.record.Toplevel+"\n"+deployed.record.Toplevel, "something was changed")
		})
	}
	w.write("operator/web.nix", trivial)
	assert.Equal(t, w.slipway(nil, "operator-ssh-web-apply").code, report.Healthy)
}

// as is the world in a test within the test.
func (w *world) as(t *testing.T) *world {
	t.Helper()
	within := *w
	within.t = t
	return &within
}

// refused runs a program that must not come to anything, and looks at how it
// says so.
func (w *world) refused(c badInput) {
	w.t.Helper()
	program := c.program
	if program == "" {
		program = "operator-ssh-web-apply"
	}
	o := w.slipway(c.change, program)
	assert.Equal(w.t, o.code, c.code)
	assert.Equal(w.t, o.stdout, "")
	for _, text := range c.says {
		assert.Assert(w.t, strings.Contains(o.stderr, text), "%q is not in what the run said", text)
	}
	assert.Assert(w.t, !strings.Contains(o.stderr, "PRIVATE KEY"), "a secret is in the output")
}
