package env_test

import (
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/targets/env"
)

func TestChildGetsFixedAndOwnVariablesOnly(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		values, own map[string]string
		want        []string
	}{
		"fixed ones that are set": {
			map[string]string{"PATH": "/bin", "HOME": "/root", "TMPDIR": "", "SSH_KEY": hush, "NIX_PATH": "x", "SSH_AUTH_SOCK": "/x", "TF_LOG": "TRACE"},
			nil,
			[]string{"HOME=/root", "PATH=/bin"},
		},
		"own ones, sorted": {
			map[string]string{"PATH": "/bin", "TERM": "dumb", "A": "no"},
			map[string]string{"Z": "1", "A": "", "TERM": "xterm"},
			[]string{"A=", "PATH=/bin", "TERM=xterm", "Z=1"},
		},
		"a PATH where there is none": {
			map[string]string{"PATH": ""},
			nil,
			[]string{"PATH=/run/wrappers/bin:/run/current-system/sw/bin:/nix/var/nix/profiles/default/bin:" +
				"/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.DeepEqual(t, env.Map(c.values).Child(c.own), c.want)
		})
	}
}

func TestFixedIsSortedAndHasReasons(t *testing.T) {
	t.Parallel()
	fixed := env.Fixed()
	assert.Assert(t, slices.IsSortedFunc(fixed, func(a, b env.Variable) int { return strings.Compare(a.Name, b.Name) }))
	values := map[string]string{}
	var want []string
	for _, v := range fixed {
		assert.Assert(t, v.Reason != "", v.Name)
		values[v.Name] = "x"
		want = append(want, v.Name+"=x")
	}
	assert.DeepEqual(t, env.Map(values).Child(nil), want)
}
