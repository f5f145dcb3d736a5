package groups

import (
	"testing"
	"time"

	"gotest.tools/v3/assert"
)

func TestProbesAreChecked(t *testing.T) {
	for _, c := range []struct {
		name  string
		probe Probe
		err   string // empty: fine
	}{
		{"a port", Probe{Name: "database", Ask: TCP{Address: "127.0.0.1:5432"}}, ""},
		{"a port of IPv6", Probe{Name: "database", Ask: TCP{Address: "[::1]:5432"}}, ""},
		{"a page", Probe{Name: "site", Ask: HTTP{URL: "http://127.0.0.1/", Host: "www.example.org", Status: 301}, Deadline: time.Minute}, ""},
		{"a command", Probe{Name: "queue", Ask: Command{Script: "true"}}, ""},
		{"no name", Probe{Ask: Command{Script: "true"}}, "no name of one line"},
		{"nothing to ask", Probe{Name: "site"}, "nothing to ask"},
		{"a deadline in the past", Probe{Name: "site", Ask: Command{Script: "true"}, Deadline: -time.Second}, "a deadline of -1s"},
		{"no port", Probe{Name: "site", Ask: TCP{Address: "127.0.0.1"}}, `address "127.0.0.1"`},
		{"no host", Probe{Name: "site", Ask: TCP{Address: ":80"}}, "host or port is missing"},
		{"no address", Probe{Name: "site", Ask: HTTP{URL: "127.0.0.1/"}}, "no http or https address"},
		{"another protocol", Probe{Name: "site", Ask: HTTP{URL: "ftp://127.0.0.1/"}}, "no http or https address"},
		{"a status that is none", Probe{Name: "site", Ask: HTTP{URL: "http://127.0.0.1/", Status: 7}}, "status 7"},
		{"an empty command", Probe{Name: "queue", Ask: Command{Script: "\n"}}, "an empty script"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := c.probe.Check()
			if c.err == "" {
				assert.NilError(t, err)
				return
			}
			assert.ErrorContains(t, err, c.err)
		})
	}
}

func TestAProbeWithoutADeadlineHasOne(t *testing.T) {
	assert.Equal(t, Probe{}.Limit(), DefaultDeadline)
	assert.Equal(t, Probe{Deadline: time.Second}.Limit(), time.Second)
	assert.Equal(t, HTTP{}.Expected(), 200)
}
