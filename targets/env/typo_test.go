package env_test

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/targets/env"
)

func TestTypos(t *testing.T) {
	t.Parallel()
	declared, err := env.Declared(ssh{}, struct {
		A env.Path   `env:"NIXPKGS" desc:"d"`
		B env.Path   `env:"REPORT" desc:"d"`
		C env.Secret `env:"TF_HTTP_PASSWORD" desc:"d"`
		D env.Path   `env:"XDG_CACHE_HUME" desc:"d"`
	}{})
	assert.NilError(t, err)
	machines := []string{"web", "db-1"}
	for variable, want := range map[string]string{
		"SSH_HOTS":               "SSH_HOST",
		"SSH_HSOT":               "SSH_HOST",
		"SSH_HOSTT":              "SSH_HOST",
		"SSH_PRT":                "SSH_PORT",
		"SSH_CONECT_TIMOUT":      "SSH_CONNECT_TIMEOUT",
		"SSH_CONNECT_TIMEOUTMS":  "SSH_CONNECT_TIMEOUT",
		"SSH_KEY_FIEL":           "SSH_KEY_FILE",
		"SSHHOST":                "SSH_HOST",
		"TF_HTTP_PASSWROD":       "TF_HTTP_PASSWORD",
		"TF_HTTP_PASSWORD_FLE":   "TF_HTTP_PASSWORD_FILE",
		"NIXPKG":                 "NIXPKGS",
		"REPORTS":                "REPORT",
		"WEB_SSH_HOTS":           "WEB_SSH_HOST",
		"DB_1_SSH_KEY_FIL":       "DB_1_SSH_KEY_FILE",
		"SSH_HOST":               "",
		"WEB_SSH_HOST":           "",
		"DB_1_SSH_KEY_FILE":      "",
		"DB_2_SSH_HOST":          "", // may be another run's
		"SSH_KEYFILES_ARE_FUN":   "",
		"SSH_HOTELS":             "", // three away
		"SHH_HOST":               "", // starts otherwise
		"NIX_PATH":               "",
		"PATH":                   "",
		"HOME":                   "",
		"SSH_AUTH_SOCK":          "",
		"SSH_CONNECTION":         "",
		"SSH_CLIENT":             "",
		"SSH_TTY":                "",
		"SSH_AGENT_PID":          "",
		"XDG_CACHE_HOME":         "",
		"TF_HTTP_ADDRESS":        "",
		"_":                      "",
		"":                       "",
		"BASH_FUNC_which%%":      "",
		"ssh_host":               "",
		strings.Repeat("X", 1e4): "",
	} {
		typos := env.Map(map[string]string{variable: hush}).Typos(declared, machines)
		if want == "" {
			assert.Check(t, len(typos) == 0, "%v", typos)
			continue
		}
		assert.DeepEqual(t, typos, []env.Typo{{Name: variable, Meant: want}})
		assert.Equal(t, typos[0].String(), variable+" is set but not declared; did you mean "+want+"?")
	}
}

func TestTyposAreSortedAndOneAVariable(t *testing.T) {
	t.Parallel()
	declared := []env.Key{{Name: "A_BC"}, {Name: "A_BD"}, {Name: "A_BCD"}}
	typos := env.Map(map[string]string{"A_BX": "", "A_B": "", "A_BC": "", "A_BCDE": ""}).Typos(declared, nil)
	assert.DeepEqual(t, typos, []env.Typo{{"A_B", "A_BC"}, {"A_BCDE", "A_BCD"}, {"A_BX", "A_BC"}})
}
