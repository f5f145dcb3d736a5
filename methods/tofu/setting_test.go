package tofu

import (
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"
)

func TestProvidersComeFromAMirrorAloneWhereThereIsOne(t *testing.T) {
	assert.Equal(t, string(Deployment{}.settings()), "disable_checkpoint = true\n")
	assert.Assert(t, cmp.Contains(string(Deployment{Mirror: `/srv/a "b"`}.settings()), `path = "/srv/a \"b\""`))
	assert.Assert(t, !cmp.Contains(string(Deployment{Mirror: "/srv"}.settings()), "direct")().Success())
}

func TestWhatIsKeptIsNoFaultOfADestroy(t *testing.T) {
	for _, keeps := range []bool{false, true} {
		all, err := Deployment{Keeps: keeps}.forbidden()
		assert.NilError(t, err)
		assert.Equal(t, all["TF_CLI_ARGS_apply"] == "-suppress-forget-errors", keeps)
	}
}
