//go:build checks

package checks

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/groups"
	"fediversity.eu/slipway/internal/child"
	"fediversity.eu/slipway/targets/report"
)

// many is a group of so many machines with two records each.
func many(machines int) groups.Group {
	group := groups.Group{Name: "many", Zones: []groups.Zone{{}}}
	for i := range machines {
		group.Machines = append(group.Machines, groups.Machine{
			Name:      fmt.Sprintf("m%d", i),
			Addresses: []string{fmt.Sprintf("10.%d.%d.%d", i>>16, i>>8&255, i&255), fmt.Sprintf("2001:db8::%x", i+1)},
		})
	}
	return group
}

// TestDNSBesideOctoDNS publishes zones with the effect, and then asks bare
// octodns-sync about the same zone: it must find nothing to change, and what the
// effect takes longer is shown.
func TestDNSBesideOctoDNS(t *testing.T) {
	for _, machines := range []int{10, 500} {
		t.Run(fmt.Sprintf("%d records", 2*machines), func(t *testing.T) {
			s := newNameServer(t, "BIND", zoneName)
			group := many(machines)
			first := runDNS(t, group, "apply", s.vars, isNew)
			assert.Equal(t, first.code, report.Healthy)
			again := runDNS(t, group, "apply", s.vars)
			assert.Equal(t, again.code, report.Healthy)
			assert.Assert(t, !again.record.Changed)

			config := bareConfig(t, s, group)
			bare := func(args ...string) time.Duration {
				began := time.Now()
				_, err := child.Command{
					Path: python(t), Args: append([]string{"-m", "octodns.cmds.sync", "--config-file", config}, args...),
					Env: append([]string{"DNS_TSIG_SECRET=" + tsigSecret}, serverPath...),
				}.Output(t.Context())
				assert.NilError(t, err)
				return time.Since(began)
			}
			unchanged := bare("--doit")
			assert.Equal(t, runDNS(t, group, "plan", s.vars).out, fmt.Sprintf("example.org.: no changes, %d records\n", 2*machines))
			t.Logf("%d records: apply %.2f s, of it %v; unchanged %.2f s, bare octodns-sync unchanged %.2f s",
				2*machines, first.took.Seconds(), first.record.Timings, again.took.Seconds(), unchanged.Seconds())
		})
	}
}

// bareConfig is what somebody would write who uses OctoDNS by itself.
func bareConfig(t *testing.T, s *nameServer, group groups.Group) string {
	t.Helper()
	dir := t.TempDir()
	write := func(name string, value any) string {
		text, err := json.Marshal(value)
		assert.NilError(t, err)
		path := filepath.Join(dir, name)
		assert.NilError(t, os.WriteFile(path, text, 0o600))
		return path
	}
	type object = map[string]any
	zone := object{}
	for _, m := range group.Machines {
		zone[m.Name] = []object{{"type": "A", "value": m.Addresses[0]}, {"type": "AAAA", "value": m.Addresses[1]}}
	}
	write("example.org.yaml", zone)
	return write("config.yaml", object{
		"providers": object{
			"file": object{"class": "octodns.provider.yaml.YamlProvider", "directory": dir, "enforce_order": false},
			"bind": object{
				"class": "octodns_bind.Rfc2136Provider", "host": "127.0.0.1", "port": s.port,
				"key_name": tsigName, "key_secret": "env/DNS_TSIG_SECRET", "key_algorithm": "hmac-sha256",
			},
		},
		"zones": object{zoneName: object{"sources": []string{"file"}, "targets": []string{"bind"}}},
	})
}
