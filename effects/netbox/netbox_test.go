package netbox_test

import (
	"testing"

	"fediversity.eu/slipway/effects/netbox/fake"
	"fediversity.eu/slipway/effects/netbox/suite"
)

// TestOverAFake runs the suite over a NetBox that stands in for the real one, in
// each form that its API has. The real one is a check.
func TestOverAFake(t *testing.T) {
	for _, version := range []string{"4.5", "4.7"} {
		t.Run(version, func(t *testing.T) {
			suite.Run(t, func(t *testing.T) suite.Server {
				t.Helper()
				s := fake.New(version)
				t.Cleanup(s.Close)
				return suite.Server{URL: s.URL, Token: fake.TokenV2, TokenV1: fake.TokenV1, ReadOnly: fake.ReadOnly}
			})
		})
	}
}

// TestManyMachines holds the number of requests down: a run with nothing to do
// reads one page a kind.
func TestManyMachines(t *testing.T) {
	s := fake.New("4.7")
	t.Cleanup(s.Close)
	suite.Measure(t, suite.Server{URL: s.URL, Token: fake.TokenV2}, 500)
}
