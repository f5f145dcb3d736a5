package tofu

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/checks/fakestate"
	"fediversity.eu/slipway/methods/tofu/rundir"
	"fediversity.eu/slipway/methods/tofu/state"
	"fediversity.eu/slipway/targets/env"
)

func encryption(passphrase string) env.Secret {
	return env.NewSecret(`key_provider "pbkdf2" "k" { 
  passphrase = "` + passphrase + `"
  iterations = 200000
}
method "aes_gcm" "m" { keys = key_provider.pbkdf2.k }
state {
  method   = method.aes_gcm.m
  enforced = true
}
plan {
  method   = method.aes_gcm.m
  enforced = true
}`)
}

func TestEncryptedState(t *testing.T) {
	b := newBench(t, fakestate.GitLab)
	key := encryption("a passphrase that is long enough")
	d := objects(2)
	first, err := b.engine(Keys{Phase: cold, Encryption: key}).Apply(t.Context(), d)
	assert.NilError(t, err)
	assert.Equal(t, len(first.Objects), 2)
	for _, stored := range b.Stored() {
		assert.Assert(t, strings.Contains(stored, "encrypted_data"), "every version is encrypted")
	}
	again, err := b.engine(Keys{Encryption: key, Lineage: first.Lineage}).Apply(t.Context(), objects(3))
	assert.NilError(t, err)
	assert.Equal(t, again.Plan.Add, 1)

	_, err = b.engine(Keys{}).Apply(t.Context(), d)
	refusedFor(t, err, "garbage: it is encrypted, and OpenTofu can't read it: init: Error refreshing state: Unsupported state file format: This state file is encrypted")
	assert.Assert(t, !strings.ContainsRune(err.Error(), 0x1b))
	_, err = b.engine(Keys{Encryption: encryption("another that is long enough as well")}).Plan(t.Context(), d)
	refusedFor(t, err, "garbage: it is encrypted")

	list, err := b.engine(Keys{Encryption: key}).StateList(t.Context(), d)
	assert.NilError(t, err)
	assert.Equal(t, len(list), 3)

	_, err = b.engine(Keys{Encryption: key}).Destroy(t.Context(), d)
	assert.NilError(t, err)
	assert.Equal(t, b.State(), "")
	assert.Equal(t, b.Locked(), "")
}

func TestPassphraseOfAVariable(t *testing.T) {
	b := newBench(t, fakestate.Strict)
	key := env.NewSecret(strings.ReplaceAll(encryption("VALUE").Reveal(), `"VALUE"`, "var.pp"))
	d := objects(1)
	d.Files["variables.tf"] = []byte("variable \"pp\" { sensitive = true }\n")
	d.Vars = map[string]env.Secret{"pp": env.NewSecret("a passphrase that is long enough")}
	_, err := b.engine(Keys{Phase: cold, Encryption: key}).Apply(t.Context(), d)
	assert.NilError(t, err)
	_, err = b.engine(Keys{Encryption: key}).Apply(t.Context(), d)
	assert.NilError(t, err)
	assert.Assert(t, strings.Contains(b.State(), "encrypted_data"))
}

func TestEncryptedBootstrapIsSeen(t *testing.T) {
	b := newBench(t, fakestate.Strict)
	key := encryption("a passphrase that is long enough")
	raw, err := state.Seed("l", "1.12.6", &state.Marker{Run: "r", Host: "elsewhere", Dir: "/d"})
	assert.NilError(t, err)
	sealed, err := b.engine(Keys{Encryption: key}).seal(t.Context(), objects(1), raw)
	assert.NilError(t, err)
	b.Set(sealed.Raw, nil)
	_, err = b.engine(Keys{Encryption: key}).Apply(t.Context(), objects(1))
	refusedFor(t, err, "a bootstrap that has not ended: run r")
	_, err = b.engine(Keys{Encryption: key, Phase: cold}).Apply(t.Context(), objects(1))
	refusedFor(t, err, "a bootstrap that has not ended: run r")
	result, err := b.engine(Keys{Encryption: key, Phase: cold, Abandon: "r"}).Apply(t.Context(), objects(1))
	assert.NilError(t, err)
	assert.Equal(t, len(result.Objects), 1)
}

// TestDestroyAfterAFirstRunThatMadeNothing leaves nothing that a later run would go
// on from.
func TestDestroyAfterAFirstRunThatMadeNothing(t *testing.T) {
	for name, key := range map[string]env.Secret{"in clear": {}, "encrypted": encryption("a passphrase that is long enough")} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, fakestate.GitLab)
			first := Keys{Phase: cold, Encryption: key}
			_, err := b.engine(first).Apply(t.Context(), bad())
			assert.ErrorContains(t, err, "not today")
			_, err = b.engine(first).Destroy(t.Context(), bad())
			assert.NilError(t, err)
			assert.Equal(t, b.State(), "")
			assert.Equal(t, b.Locked(), "")
			kept, err := rundir.Peek(string(b.dir))
			assert.NilError(t, err)
			assert.Equal(t, kept, "")
			planned, err := b.engine(first).Plan(t.Context(), objects(1))
			assert.NilError(t, err)
			assert.Equal(t, planned.Plan.Add, 1)
		})
	}
}
