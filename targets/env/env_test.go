package env_test

import (
	"fmt"
	"testing"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/targets/env"
)

// The only test that touches the real environment, and so not parallel.
func TestProcessIsASnapshotOfTheProcess(t *testing.T) {
	t.Setenv("SSH_HOST", "web=1")
	t.Setenv("SSH_USER", "")
	e := env.Process()
	t.Setenv("SSH_HOST", "db")
	err := e.Load(t.Context(), env.For{}, &ssh{})
	assert.DeepEqual(t, problemsOf(t, err), []string{`SSH_HOST: "web=1" is neither a host name nor an address`})
	var now ssh
	assert.NilError(t, env.Process().Load(t.Context(), env.For{}, &now))
	assert.Equal(t, now.Host, env.Host("db"))
	assert.Equal(t, now.User, "root")
}

func TestMapIsASnapshotOfTheMap(t *testing.T) {
	t.Parallel()
	values := map[string]string{"SSH_HOST": "web"}
	e := env.Map(values)
	values["SSH_HOST"] = "db"
	var got ssh
	assert.NilError(t, e.Load(t.Context(), env.For{}, &got))
	assert.Equal(t, got.Host, env.Host("web"))
	assert.Equal(t, fmt.Sprintf("%v %+v %#v", e, e, e), "environment of 1 variables environment of 1 variables environment of 1 variables")
}

func TestZeroEnvironmentIsEmpty(t *testing.T) {
	t.Parallel()
	var e env.Environment
	assert.DeepEqual(t, problemsOf(t, e.Load(t.Context(), env.For{}, &ssh{})), []string{"SSH_HOST: missing"})
	assert.Equal(t, fmt.Sprint(e), "environment of 0 variables")
	assert.Equal(t, e.Redactor().String("x"), "x")
	assert.Equal(t, len(e.Typos(nil, nil)), 0)
	assert.Equal(t, len(e.Child(nil)), 1)
}

func TestNamesTellNoValues(t *testing.T) {
	e := env.Map(map[string]string{"TF_B": "2", "TF_A": "1", "TF_EMPTY": "", "OTHER": "3"})
	assert.DeepEqual(t, e.Names("TF_"), []string{"TF_A", "TF_B"})
	assert.Equal(t, len(e.Names("NONE_")), 0)
}
