package tofu

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/methods/tofu/backend"
	"fediversity.eu/slipway/methods/tofu/binary"
	"fediversity.eu/slipway/targets/env"
)

func TestKeysAreSound(t *testing.T) {
	_, err := env.Declared(Keys{}, backend.Keys{}, binary.Keys{})
	assert.NilError(t, err)
	var k Keys
	assert.NilError(t, env.Map(nil).Load(t.Context(), env.For{}, &k))
	assert.Assert(t, k.steady())
	assert.Assert(t, !k.takesIn())
	assert.Assert(t, Keys{}.steady(), "nothing said is steady")
	assert.Assert(t, !Keys{}.takesIn(), "nothing said takes nothing in")
}

func TestSecretsArePrintedByNothing(t *testing.T) {
	const hidden = "nobody reads this"
	d := Deployment{Vars: map[string]env.Secret{"x": env.NewSecret(hidden)}}
	e := Engine{Keys: Keys{Encryption: env.NewSecret(hidden)}, Backend: backend.Keys{Password: env.NewSecret(hidden), Key: env.NewSecret(hidden)}}
	for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
		for _, value := range []any{d, e, &e, e.Keys, e.Backend} {
			assert.Assert(t, !strings.Contains(fmt.Sprintf(format, value), hidden), "%s of %T", format, value)
		}
	}
	text, err := json.Marshal([]any{d.Vars, e.Keys, e.Backend})
	assert.NilError(t, err)
	assert.Assert(t, !strings.Contains(string(text), hidden))
}
