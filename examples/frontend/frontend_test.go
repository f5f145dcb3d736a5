package main

import (
	"encoding/json"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// may is what requests may set in these tests.
var may = []string{"SSH_HOST", "SSH_HOST_KEY", "SSH_USER", "ADDRESSES"}

// asked sends a request to a front-end whose jobs print their environment.
func asked(t *testing.T, secrets, path, body string) (int, string) {
	t.Helper()
	job := filepath.Join(t.TempDir(), "job")
	if err := os.WriteFile(job, []byte("#!/bin/sh\necho \"argv: $*\"\n/usr/bin/env\nexit 3\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	f := frontend{contract: baked(), run: job, secrets: secrets, may: may, own: map[string]string{"NIXPKGS": "/nix/store/x-nixpkgs", "OPERATOR_SSH_USER": "root"}}
	w := httptest.NewRecorder()
	f.routes().ServeHTTP(w, httptest.NewRequest("POST", path, strings.NewReader(body)))
	return w.Code, w.Body.String()
}

func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		name, program, body string
		code                int
		says                []string
	}{
		{"an unknown program", "operator-ssh-wbe", `{}`, 404, []string{`no program is called operator-ssh-wbe`, `"close":["operator-ssh-web"`}},
		{"an internal program", "operator-ssh-db-apply", `{}`, 404, []string{`no program is called operator-ssh-db-apply`}},
		{"a body of another form", "operator-ssh-web", `{"environment":{}}`, 400, []string{"environment"}},
		{"no body", "operator-ssh-web", ``, 400, nil},
		{"what is missing", "operator-ssh-web-verify", `{"variables":{"SSH_HOST":"192.0.2.7"}}`, 422, []string{`"missing":["SSH_HOST_KEY"]`}},
		{"what is undeclared", "operator-ssh-web-verify", `{"variables":{"SSH_HOST":"a","SSH_HOST_KEY":"b","LD_PRELOAD":"x","DB_SSH_HOST":"y","PATH":"z"}}`, 422, []string{`"undeclared":["DB_SSH_HOST","LD_PRELOAD","PATH"]`}},
		{"a secret and its file", "operator-ssh-web-verify", `{"variables":{"SSH_HOST":"a","SSH_HOST_KEY":"b","SSH_KEY":"hush","WEB_SSH_KEY_FILE":"/etc/shadow"}}`, 422, []string{`"secret":["SSH_KEY","WEB_SSH_KEY_FILE"]`}},
		{"an address of a machine that an effect does not know", "operator-dns-plan", `{"variables":{"WEB_ADDRESSES":"192.0.2.7","DB_ADDRESSES":"192.0.2.8","GATEWAY_ADDRESSES":"192.0.2.9"}}`, 422, []string{`"undeclared":["GATEWAY_ADDRESSES"]`}},
		{"a group's form", "platform-combined-verify", `{"variables":{"HYPERVISOR_SSH_HOST":"a","OPERATOR_SSH_USER":"b","PLATFORM_SSH_USER":"c","OPERATOR_SSH_HOST":"d"}}`, 422, []string{`"undeclared":["OPERATOR_SSH_HOST","PLATFORM_SSH_USER"]`, `HV1_SSH_HOST_KEY`}},
		{"a plain key of several machines", "operator-ssh-all-verify", `{"variables":{"SSH_HOST":"a"}}`, 422, []string{`"undeclared":["SSH_HOST"]`, `WEB_SSH_HOST`, `FORGE_SSH_HOST_KEY`}},
		{"an address that the front-end's secrets would go to", "operator-dns-plan", `{"variables":{"PORKBUN_URL":"http://192.0.2.1","DNS_SERVER":"192.0.2.1"}}`, 422, nil},
		{"what is run here", "operator-tf-web-plan", `{"variables":{"TOFU_PATH":"/tmp/x","TF_HTTP_ADDRESS":"http://192.0.2.1","WEB_TOFU_PATH":"/tmp/y"}}`, 422, []string{`"own":["TF_HTTP_ADDRESS","TOFU_PATH","WEB_TOFU_PATH"]`}},
		{"a form that would win over the front-end's own", "operator-ssh-web-verify", `{"variables":{"SSH_HOST":"a","SSH_HOST_KEY":"b","WEB_SSH_USER":"c","SSH_USER":"d"}}`, 422, []string{`"own":["SSH_USER","WEB_SSH_USER"]`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, said := asked(t, "", "/programs/"+c.program, c.body)
			if code != c.code {
				t.Fatalf("%d %s", code, said)
			}
			if strings.Contains(said, "argv:") || strings.Contains(said, "hush") || strings.Contains(said, "operator-ssh-db-") && c.code == 404 && c.program != "operator-ssh-db-apply" {
				t.Fatalf("%s", said)
			}
			for _, text := range c.says {
				if !strings.Contains(said, text) {
					t.Errorf("%q is not in %s", text, said)
				}
			}
		})
	}
}

func TestAJobGetsWhatIsDeclaredAndNothingElse(t *testing.T) {
	secrets := t.TempDir()
	for _, name := range []string{"SSH_KEY", "DNS_TOKEN", "UNDECLARED"} {
		if err := os.WriteFile(filepath.Join(secrets, name), []byte("hush\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("OF_THE_FRONT_END", "x")
	t.Setenv("SSH_HOST_KEY", "of the front-end itself")
	t.Setenv("HOME", "/nonexistent")
	code, said := asked(t, secrets, "/programs/operator-ssh-web-verify", `{"variables":{"WEB_SSH_HOST":"192.0.2.7","SSH_HOST_KEY":"ssh-ed25519 AAAA"}}`)
	if code != 200 || !strings.HasPrefix(said, "argv: operator-ssh-web-verify\n") || !strings.HasSuffix(said, "exit code 3\n") {
		t.Fatalf("%d %s", code, said)
	}
	fixed := []string{"PWD", "SHLVL", "_", "OLDPWD"} // the shell's own
	for _, f := range baked().Fixed {
		fixed = append(fixed, f.Name)
	}
	got := map[string]string{}
	for line := range strings.Lines(said) {
		name, value, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		if ok && !slices.Contains(fixed, name) {
			got[name] = value
		}
	}
	want := map[string]string{"WEB_SSH_HOST": "192.0.2.7", "SSH_HOST_KEY": "ssh-ed25519 AAAA", "SSH_KEY_FILE": filepath.Join(secrets, "SSH_KEY"), "OPERATOR_SSH_USER": "root"}
	a, _ := json.Marshal(got)
	b, _ := json.Marshal(want)
	if string(a) != string(b) {
		t.Errorf("the job got %s instead of %s", a, b)
	}
	if !strings.Contains(said, "HOME=/nonexistent\n") {
		t.Error("HOME is missing, which is fixed")
	}
}

func TestPublishedProgramsAreListed(t *testing.T) {
	w := httptest.NewRecorder()
	frontend{contract: baked()}.routes().ServeHTTP(w, httptest.NewRequest("GET", "/programs", nil))
	if said := w.Body.String(); w.Code != 200 || !strings.Contains(said, `"name":"operator-ssh-web-apply"`) || strings.Contains(said, "operator-ssh-db") {
		t.Errorf("%d %s", w.Code, said)
	}
}

// TestOnlyItsOwnNameIsAnswered asks by names that lead to the port and are not its.
func TestOnlyItsOwnNameIsAnswered(t *testing.T) {
	h := askedBy("127.0.0.1:8080", []string{"deploy.example.org"}, frontend{contract: baked()}.routes())
	for name, code := range map[string]int{
		"127.0.0.1:8080": 200, "localhost:8080": 200, "deploy.example.org": 200,
		"evil.example.com:8080": 421, "localhost": 421, "127.0.0.1": 421, "": 421, "localhost:8080.evil.example.com": 421,
	} {
		r := httptest.NewRequest("GET", "/programs", nil)
		r.Host = name
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != code {
			t.Errorf("%q: %d", name, w.Code)
		}
	}
}

func TestSettings(t *testing.T) {
	path := filepath.Join(t.TempDir(), "settings")
	for text, want := range map[string]string{"A=b=c\nD=\n": "", "A\n": ":1: not NAME=value", "A=b\n=c\n": ":2: not NAME=value"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := settings(path)
		if want == "" && (err != nil || got["A"] != "b=c" || len(got) != 2) || want != "" && (err == nil || !strings.HasSuffix(err.Error(), want)) {
			t.Errorf("%q: %v %v", text, got, err)
		}
	}
}
