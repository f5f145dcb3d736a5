package report

import (
	"errors"
	"fmt"
	"testing"

	"gotest.tools/v3/assert"
)

func TestFaultText(t *testing.T) {
	why := errors.New("disk full")
	for _, c := range []struct {
		name  string
		fault Fault
		want  string
	}{
		{"what alone", Fault{What: "copy the closure"}, "copy the closure"},
		{"what and why", Fault{What: "copy the closure", Why: why}, "copy the closure: disk full"},
		{"what and where", Fault{What: "open nixpkgs", Where: "/srv/nixpkgs"}, "open nixpkgs (/srv/nixpkgs)"},
		{"all", Fault{What: "open nixpkgs", Where: "/srv", Why: why, Hint: "free some"}, "open nixpkgs (/srv): disk full"},
	} {
		t.Run(c.name, func(t *testing.T) {
			assert.Error(t, &c.fault, c.want)
			if c.fault.Why != nil {
				assert.ErrorIs(t, &c.fault, why)
			}
		})
	}
}

func TestHints(t *testing.T) {
	full := Refuse("copy", errors.New("disk full"), "free some space")
	lock := &Fault{Code: Busy, What: "lock", Hint: "try again later"}
	for _, c := range []struct {
		name string
		err  error
		want []string
	}{
		{"no error", nil, nil},
		{"a plain error", errors.New("plain"), nil},
		{"a fault without a hint", Fail("copy", nil, ""), nil},
		{"a fault", full, []string{"free some space"}},
		{"a wrapped fault", fmt.Errorf("web: %w", full), []string{"free some space"}},
		{"within an exit", &Exit{Code: Busy, Err: lock}, []string{"try again later"}},
		{"outermost first", Fail("apply", full, "run it again"), []string{"run it again", "free some space"}},
		{"of joined errors in order", errors.Join(lock, nil, full), []string{"try again later", "free some space"}},
		{
			"each once",
			errors.Join(fmt.Errorf("web: %w", full), fmt.Errorf("db: %w", full), fmt.Errorf("two: %w and %w", lock, full)),
			[]string{"free some space", "try again later"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			assert.DeepEqual(t, Hints(c.err), c.want)
		})
	}
}
