package nixos

import (
	"testing"

	"gotest.tools/v3/assert"
)

// TestBack goes back to what was proved, not merely to what ran before.
func TestBack(t *testing.T) {
	const a, b, c = "/nix/store/a", "/nix/store/b", "/nix/store/c"
	for _, row := range []struct {
		name    string
		machine Machine
		want    string
		proved  bool
	}{
		{"the system that runs is the default at boot", Machine{Current: a, Profile: a, Proved: a}, a, true},
		{"an earlier run left what it had not proved", Machine{Current: b, Profile: a, Proved: a}, a, true},
		{"an earlier run left what it had not proved, and nothing is noted", Machine{Current: b, Profile: a}, a, true},
		{"somebody made another system the default at boot, which never ran", Machine{Current: a, Profile: b, Proved: a}, a, true},
		{"the last switch did not end well", Machine{Current: b, Profile: a, Proved: b, Pending: b}, a, true},
		{"the last switch did not end well, and there is no other system", Machine{Current: a, Profile: a, Proved: a, Pending: a}, a, true},
		{"what is to be deployed is itself the default at boot", Machine{Current: b, Profile: c, Proved: c}, b, false},
		{"no profile", Machine{Current: b}, b, true},
		{"what is to be deployed runs already", Machine{Current: c, Profile: a, Proved: a}, a, true},
		{"what is to be deployed runs already and there is no other", Machine{Current: c, Profile: c, Proved: c, Pending: c}, c, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			got, proved := row.machine.Back(c)
			assert.Equal(t, got, row.want)
			assert.Equal(t, proved, row.proved)
		})
	}
}
