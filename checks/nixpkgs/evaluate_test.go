package nixpkgs_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"
)

func TestWrongDefinitionsAreRefusedWithTheirPlace(t *testing.T) {
	n := newNix(t)
	for name, test := range map[string]struct {
		files map[string]string
		says  []string
	}{
		"an unknown option": {
			map[string]string{"a.nix": `{ services.nginx.enabel = true; }`},
			[]string{"The option `services.nginx.enabel' does not exist", "/a.nix'", "Did you mean `services.nginx.enable'"},
		},
		"an unknown option behind a condition": {
			map[string]string{"a.nix": `{ lib, ... }: { services = lib.mkIf false { ngnix.enable = true; }; }`},
			[]string{"The option `services.ngnix' does not exist", "/a.nix'"},
		},
		"an unknown option of a submodule": {
			map[string]string{"a.nix": `{ systemd.services.x.restartIfChange = true; }`},
			[]string{"The option `systemd.services.x.restartIfChange' does not exist", "Did you mean `systemd.services.x.restartIfChanged'"},
		},
		"a wrong type": {
			map[string]string{"a.nix": `{ networking.firewall.enable = "yes"; }`},
			[]string{"A definition for option `networking.firewall.enable' is not of type `boolean', but a string", "/a.nix': \"yes\""},
		},
		"a wrong element": {
			map[string]string{"a.nix": `{ networking.firewall.allowedTCPPorts = [ 80 70000 ]; }`},
			[]string{"`networking.firewall.allowedTCPPorts.", "not of type `16 bit unsigned integer; between 0 and 65535", "70000"},
		},
		"a value outside of an enumeration": {
			map[string]string{"a.nix": `{ services.openssh = { enable = true; settings.PermitRootLogin = "maybe"; }; }`},
			[]string{"`services.openssh.settings.PermitRootLogin'", `"prohibit-password"`, `"maybe"`},
		},
		"a conflict": {
			map[string]string{"a.nix": `{ time.timeZone = "UTC"; }`, "b.nix": `{ time.timeZone = "Europe/Amsterdam"; }`},
			[]string{"`time.timeZone' has conflicting definition values", "/a.nix': \"UTC\"", "/b.nix': \"Europe/Amsterdam\"", "lib.mkForce"},
		},
		"a value where options are": {
			map[string]string{"a.nix": `{ services.nginx = true; }`},
			[]string{"`services.nginx' is a set of options", "/a.nix'"},
		},
		"an option that is declared twice": {
			map[string]string{"a.nix": `{ lib, ... }: { options.time.timeZone = lib.mkOption { type = lib.types.str; }; }`},
			[]string{"The option `time.timeZone' in", "is already declared in", "/a.nix"},
		},
		"an argument that nobody gives": {
			map[string]string{"a.nix": `{ surprise, ... }: { time.timeZone = surprise; }`},
			[]string{"The module argument `surprise' is given by nobody"},
		},
		"a set beside config": {
			map[string]string{"a.nix": `{ config = { }; time.timeZone = "UTC"; }`},
			[]string{"/a.nix' has an unsupported attribute `time'"},
		},
		"a violated assertion": {
			map[string]string{"a.nix": `{ assertions = [ { assertion = false; message = "pigs do not fly"; } ]; }`},
			[]string{"Failed assertions:", "- pigs do not fly"},
		},
		"an account of no kind": {
			map[string]string{"a.nix": `{ users.users.eve.group = "users"; }`},
			[]string{"Failed assertions:", "users.users.eve.isSystemUser"},
		},
		"a certificate without a contact": {
			map[string]string{"a.nix": `{ services.nginx.enable = true; services.nginx.virtualHosts.a.enableACME = true; security.acme.acceptTerms = true; }`},
			[]string{"security.acme.defaults.email"},
		},
		"a script beside its own setting": {
			map[string]string{"a.nix": `{ systemd.services.x = { script = "true"; serviceConfig.ExecStart = "/bin/true"; }; }`},
			[]string{"systemd.services.x has both a script and serviceConfig.ExecStart"},
		},
		"a file outside of the listed ones": {
			map[string]string{"a.nix": `{ environment.etc.x.text = builtins.readFile /etc/hostname; }`},
			[]string{"path '/etc/hostname' is forbidden in restricted mode"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, _, err := n.instantiate(t, system{files: test.files})
			text := refusal(t, err)
			for _, part := range test.says {
				assert.Check(t, is.Contains(text, part))
			}
		})
	}
}

func TestPlatformIsNeverGuessed(t *testing.T) {
	n := newNix(t)
	expr := `(import ` + n.nixpkgs + `/nixos/lib/eval-config.nix { system = null; extraModules = [ ]; modules = [ ]; }).config.system.build.toplevel.drvPath`
	_, err := n.command("nix-instantiate", "--eval", "--expr", expr).Output(t.Context())
	assert.Check(t, is.Contains(refusal(t, err), "The option `nixpkgs.hostPlatform' was accessed but has no value defined"))
}

func TestNothingIsReadFromOutside(t *testing.T) {
	n := newNix(t)
	n.env = append(n.env, "SECRET_OF_THE_CALLER=seen")
	var texts map[string]string
	err := n.value(t, system{files: map[string]string{
		"a.nix": `{ environment.variables.PROBE = "[${builtins.getEnv "SECRET_OF_THE_CALLER"}]"; }`,
	}}, "config.environment.variables", &texts)
	assert.NilError(t, err)
	assert.Equal(t, texts["PROBE"], "[]")
}

func TestTreeIsPure(t *testing.T) {
	impure := []string{"getEnv", "currentSystem", "currentTime", "<nixpkgs>", "fetchTarball", "fetchurl", "nixPath"}
	for _, dir := range []string{"tree", "../../groups"} {
		assert.NilError(t, filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
			if err != nil || entry.IsDir() || filepath.Ext(path) != ".nix" {
				return err
			}
			text, err := os.ReadFile(path)
			for line := range strings.Lines(string(text)) {
				code, _, _ := strings.Cut(line, "#")
				for _, word := range impure {
					assert.Check(t, !strings.Contains(code, word), "%s uses %s", path, word)
				}
			}
			return err
		}))
	}
}

func TestDefinitionsAreMerged(t *testing.T) {
	n := newNix(t)
	for name, test := range map[string]struct {
		files     map[string]string
		attribute string
		want      any
	}{
		"a default gives way": {
			map[string]string{"a.nix": `{ lib, ... }: { time.timeZone = lib.mkDefault "UTC"; }`, "b.nix": `{ time.timeZone = "Europe/Paris"; }`},
			"config.time.timeZone", "Europe/Paris",
		},
		"force wins": {
			map[string]string{"a.nix": `{ lib, ... }: { time.timeZone = lib.mkForce "UTC"; }`, "b.nix": `{ time.timeZone = "Europe/Paris"; }`},
			"config.time.timeZone", "UTC",
		},
		"the lower number wins": {
			map[string]string{"a.nix": `{ lib, ... }: { time.timeZone = lib.mkOverride 40 "UTC"; }`, "b.nix": `{ lib, ... }: { time.timeZone = lib.mkForce "Europe/Paris"; }`},
			"config.time.timeZone", "UTC",
		},
		"priorities reach into sets": {
			map[string]string{"a.nix": `{ lib, ... }: { networking = lib.mkForce { hostName = "forced"; }; }`, "b.nix": `{ networking.hostName = "plain"; }`},
			"config.networking.hostName", "forced",
		},
		"a condition drops a definition": {
			map[string]string{"a.nix": `{ config, lib, ... }: { networking.hostName = lib.mkIf config.boot.isContainer "c"; }`, "b.nix": `{ networking.hostName = "plain"; }`},
			"config.networking.hostName", "plain",
		},
		"lists add up in order": {
			map[string]string{"a.nix": `{ lib, ... }: { networking.nameservers = lib.mkMerge [ (lib.mkAfter [ "last" ]) [ "middle" ] (lib.mkBefore [ "first" ]) ]; }`},
			"config.networking.nameservers",
			[]any{"first", "middle", "last"},
		},
		"lines are joined": {
			map[string]string{"a.nix": `{ lib, ... }: { networking.extraHosts = lib.mkMerge [ "a" "b" ]; }`},
			"config.networking.extraHosts", "a\nb",
		},
		"free settings stand beside declared ones": {
			map[string]string{"a.nix": `{ services.openssh.settings.LogLevel = "VERBOSE"; }`},
			"config.services.openssh.settings.LogLevel", "VERBOSE",
		},
		"imports are followed once": {
			map[string]string{
				"a.nix": `{ imports = [ ./b.nix ./b.nix ]; networking.nameservers = [ "a" ]; }`,
				"b.nix": `{ networking.nameservers = [ "b" ]; }`,
			},
			"config.networking.nameservers",
			[]any{"a", "b"},
		},
		"a module extends another's argument": {
			map[string]string{"a.nix": `{ _module.args.word = "given"; }`, "b.nix": `{ word, ... }: { networking.hostName = word; }`},
			"config.networking.hostName", "given",
		},
		"a string becomes an activation snippet": {
			map[string]string{"a.nix": `{ system.activationScripts.x = "true"; }`},
			"config.system.activationScripts.x.text", "true",
		},
		"coordinates are an argument": {
			map[string]string{"a.nix": `{ coordinates, ... }: { networking.domain = coordinates.domain; networking.hostName = coordinates.machine; }`},
			"config.networking.fqdn", "box.example.org",
		},
		"an option knows its files": {
			map[string]string{"a.nix": `{ options, lib, ... }: { time.timeZone = "UTC"; environment.variables.X = baseNameOf (lib.head options.time.timeZone.files); }`},
			"config.environment.variables.X", "a.nix",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got any
			assert.NilError(t, n.value(t, system{files: test.files}, test.attribute, &got))
			assert.DeepEqual(t, got, test.want)
		})
	}
}

func TestWarningsAreShown(t *testing.T) {
	n := newNix(t)
	_, said, _, err := n.instantiate(t, system{files: map[string]string{"a.nix": `{ warnings = [ "winter is near" ]; }`}})
	assert.NilError(t, err)
	assert.Check(t, is.Contains(said, "warning: winter is near"))
}

func TestMovedOptionsLeadToTheirNewPlace(t *testing.T) {
	n := newNix(t)
	files := map[string]string{
		"a.nix": `{ lib, ... }: { imports = [ (lib.mkRenamedOptionModule [ "old" "zone" ] [ "time" "timeZone" ]) ]; }`,
		"b.nix": `{ old.zone = "UTC"; }`,
	}
	var zone string
	assert.NilError(t, n.value(t, system{files: files}, "config.time.timeZone", &zone))
	assert.Equal(t, zone, "UTC")
	_, said, _, err := n.instantiate(t, system{files: files})
	assert.NilError(t, err)
	assert.Check(t, is.Contains(said, "`old.zone' defined in"))
	assert.Check(t, is.Contains(said, "has been renamed to `time.timeZone'"))

	_, _, _, err = n.instantiate(t, system{files: map[string]string{
		"a.nix": `{ lib, ... }: { imports = [ (lib.mkRemovedOptionModule [ "gone" ] "Use a pencil.") ]; gone = 1; }`,
	}})
	assert.Check(t, is.Contains(refusal(t, err), "Use a pencil."))
}
