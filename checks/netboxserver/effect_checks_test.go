//go:build checks

package netboxserver

import (
	"errors"
	"path/filepath"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/effects/netbox/suite"
	"fediversity.eu/slipway/targets/env"
)

// TestNetBoxEffect runs the essential tests of the effect's suite over NetBox itself,
// with PostgreSQL and Redis, or all of them where CHECKS_NETBOX says so. Over a NetBox
// that stands in for it, the suite is an ordinary test.
func TestNetBoxEffect(t *testing.T) {
	var keys struct {
		NetBox string `env:"CHECKS_NETBOX,default=essential" oneof:"essential,all" desc:"how much of the suite runs"`
	}
	assert.NilError(t, env.Process().Load(t.Context(), env.For{}, &keys))
	cache, err := env.Process().CacheDir()
	assert.NilError(t, err)
	began := time.Now()
	tree, err := Install(t.Context(), env.Process(), filepath.Join(cache, "tools"))
	if errors.Is(err, ErrMissing) {
		t.Skip(err)
	}
	assert.NilError(t, err)
	t.Logf("NetBox %s was installed after %s", Version, time.Since(began).Round(time.Second))
	server, err := tree.Start(t.Context(), t.TempDir())
	assert.NilError(t, err)
	t.Cleanup(func() {
		assert.Check(t, server.Close())
		if t.Failed() {
			t.Logf("NetBox, its database and its cache said:\n%s", server.Output())
		}
	})
	t.Logf("NetBox answered after %s", time.Since(began).Round(time.Second))
	it := suite.Server{URL: server.URL, Token: tree.Tokens.V2, TokenV1: tree.Tokens.V1, ReadOnly: tree.Tokens.ReadOnly, Slow: true}
	same := func(*testing.T) suite.Server { return it }
	if keys.NetBox != "all" {
		suite.Essential(t, same)
		return
	}
	suite.Run(t, same)
	// More than fit into one request. NetBox makes some ten objects a second, so
	// that the count of requests for 500 is left to the ordinary test.
	t.Run("many machines", func(t *testing.T) { suite.Measure(t, it, 120) })
}
