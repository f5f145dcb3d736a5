package lock

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/internal/child"
)

func TestIDGoesThereAndBack(t *testing.T) {
	id, err := New("operator.tf web", "state-list", Place{Host: "a.b.example", Boot: "92208b84-4ae", Namespace: "4026531836"})
	assert.NilError(t, err)
	assert.Equal(t, id.Owner, "operator_tf_web", "no field holds the dot that parts them")
	text := id.String()
	assert.Assert(t, len(text) <= 255)
	assert.Equal(t, strings.Count(text, "."), 8)
	back, ok := Parse(text)
	assert.Assert(t, ok)
	assert.Equal(t, back, id)
	for _, alien := range []string{
		"", "7e7c1c2e-0000", strings.Replace(text, "slipway1", "slipway2", 1), text + ".more",
		strings.Replace(text, ".4026531836.", ".4026531836.x", 1),
	} {
		_, ok := Parse(alien)
		assert.Assert(t, !ok, alien)
	}
}

func TestLife(t *testing.T) {
	here, err := Here()
	assert.NilError(t, err)
	me, err := New("web", "apply", here)
	assert.NilError(t, err)
	var pid int
	assert.NilError(t, child.Command{Path: "/bin/true", Started: func(number int) { pid = number }}.Run(t.Context()))
	gone, reused, booted, inside := me, me, me, me
	gone.PID = pid
	reused.Start--
	booted.Boot = "00000000-000"
	inside.Namespace = "1"
	for _, c := range []struct {
		name string
		id   ID
		want Life
	}{
		{"this process", me, Alive},
		{"one that has ended", gone, Dead},
		{"another process that had this number", reused, Dead},
		{"one of another boot", booted, Unknown},
		{"one of another namespace", inside, Unknown},
	} {
		t.Run(c.name, func(t *testing.T) {
			assert.Equal(t, me.Life(c.id, true), c.want)
			assert.Equal(t, me.Life(c.id, false), Unknown)
		})
	}
}
