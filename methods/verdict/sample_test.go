package verdict

import (
	"os"
	"path/filepath"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"
)

func TestParseSample(t *testing.T) {
	for _, c := range []struct {
		name string
		text string
		want []Unit
		err  string
	}{
		{
			"a service",
			"Id=web.service\nLoadState=loaded\nActiveState=failed\nSubState=failed\nResult=exit-code\nExecMainStatus=203\nNRestarts=5\nInvocationID=0a0b\n",
			[]Unit{{Name: "web.service", Load: "loaded", Active: "failed", Sub: "failed", Result: "exit-code", ExitStatus: 203, Restarts: 5, Invocation: "0a0b"}},
			"",
		},
		{
			"a type without results, and one with a job",
			"Id=a.target\nLoadState=loaded\nActiveState=active\nSubState=active\n\nId=b.mount\nActiveState=inactive\nJob=42\n",
			[]Unit{{Name: "a.target", Load: "loaded", Active: "active", Sub: "active"}, {Name: "b.mount", Active: "inactive", Job: true}},
			"",
		},
		{"no job is number 0", "Id=a.target\nActiveState=active\nJob=0\n", []Unit{{Name: "a.target", Active: "active"}}, ""},
		{"lines in another order", "ActiveState=active\nId=a.target\n", []Unit{{Name: "a.target", Active: "active"}}, ""},
		{"line ends of terminals", "Id=a.target\r\nActiveState=active\r\n", []Unit{{Name: "a.target", Active: "active"}}, ""},
		{"a name with the sign in it", "Id=a=b.service\nActiveState=active\n", []Unit{{Name: "a=b.service", Active: "active"}}, ""},
		{"a block of something else", "Version=255\n\nId=a.target\nActiveState=active\n", []Unit{{Name: "a.target", Active: "active"}}, ""},
		{"nothing", "", nil, "systemctl named no unit"},
		{"empty lines", "\n\n\n\n", nil, "systemctl named no unit"},
		{"an error instead", "Failed to connect to bus: No such file or directory\n", nil, "systemctl named no unit"},
		{"a block without a unit", "ActiveState=active\n", nil, "systemctl named no unit"},
		{"a unit without a state", "Id=a.target\nLoadState=loaded\n", nil, "unit a.target: no ActiveState"},
		{"cut off in a name", "Id=a.target\nActiveState=active\n\nId=b.ser", nil, "unit b.ser: no ActiveState"},
		{"cut off in a state", "Id=a.target\nActiveState=active\n\nId=b.service\nActiveState=fai", nil, "unit b.service"},
		{"a state that nobody knows", "Id=a.target\nActiveState=splendid\n", nil, "unit a.target"},
		{"an exit status that is none", "Id=a.service\nActiveState=active\nExecMainStatus=[not set]\n", nil, "unit a.service: ExecMainStatus"},
		{"a number of restarts that is none", "Id=a.service\nActiveState=active\nNRestarts=many\n", nil, "unit a.service: NRestarts"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := parseSample(c.text)
			if c.err != "" {
				assert.ErrorContains(t, err, c.err)
				assert.Assert(t, cmp.Len(got.Units, 0))
				return
			}
			assert.NilError(t, err)
			assert.DeepEqual(t, got.Units, c.want)
		})
	}
}

// recorded is a sample as systemctl printed it.
func recorded(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	assert.NilError(t, err)
	return string(text)
}

func FuzzParseSample(f *testing.F) {
	for _, name := range []string{"well.txt", "starting.txt", "failed.txt"} {
		f.Add(recorded(f, name))
	}
	f.Add("")
	f.Add("Id=\nActiveState=active\n")
	f.Add("Id=a\nActiveState=\n")
	f.Fuzz(func(t *testing.T, text string) {
		sample, err := parseSample(text)
		if err != nil {
			if len(sample.Units) > 0 {
				t.Errorf("an error and %d units", len(sample.Units))
			}
			return
		}
		if len(sample.Units) == 0 {
			t.Error("a sample without a unit is none, and must not look healthy")
		}
		for _, u := range sample.Units {
			if u.Name == "" || u.Active == "" {
				t.Errorf("half a unit: %+v", u)
			}
		}
		findings, settled := judge(sample)
		if !settled && len(stuck(sample)) == 0 && len(findings) == 0 {
			t.Error("nothing is found and nothing is waited for, but it is not settled")
		}
	})
}
