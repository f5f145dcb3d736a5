package pipeline_test

import (
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
	"gotest.tools/v3/assert"
	"gotest.tools/v3/golden"

	"fediversity.eu/slipway/targets/catalog"
	"fediversity.eu/slipway/targets/contract"
	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/pipeline"
	"fediversity.eu/slipway/targets/program"
	"fediversity.eu/slipway/targets/report"
)

var writers = map[string]func(*pipeline.Pipeline) ([]byte, error){
	"gitlab": (*pipeline.Pipeline).GitLab, "github": (*pipeline.Pipeline).GitHub, "forgejo": (*pipeline.Pipeline).Forgejo,
}

func published(t *testing.T) (*program.Registry, *contract.Contract) {
	t.Helper()
	r, err := catalog.Registry()
	assert.NilError(t, err)
	c, err := contract.New(r)
	assert.NilError(t, err)
	return r, c
}

// job is what is read back of one job, whatever the system.
type job struct {
	needs, variables []string
	amber            bool // exit code 6 is a warning
}

// TestEveryPipelineHasEveryEdgeAndEveryVariable reads back the pipelines of every
// aggregate, and holds them to the registry and to the contract.
func TestEveryPipelineHasEveryEdgeAndEveryVariable(t *testing.T) {
	r, c := published(t)
	reads := map[string][]string{}
	for _, p := range c.Programs {
		reads[p.Name] = c.Variables(p)
	}
	pipelines, edges := 0, 0
	for _, p := range r.Programs() {
		if !p.Aggregate() {
			continue
		}
		made, err := pipeline.New(r, c, p.Name, pipeline.Keys{Command: "slipway"})
		assert.NilError(t, err, p.Name)
		whole, ok := c.Find(p.Name)
		assert.Assert(t, ok)
		needs := r.Needs(p)
		for system, write := range writers {
			text, err := write(made)
			assert.NilError(t, err)
			jobs := read(t, system, text)
			assert.Equal(t, len(jobs), len(whole.Members), "%s for %s", p.Name, system)
			var all []string
			for _, member := range whole.Members {
				got, ok := jobs[member]
				assert.Assert(t, ok, "%s for %s has no %s", p.Name, system, member)
				want := slices.Sorted(slices.Values(needs[member]))
				assert.Assert(t, slices.Equal(got.needs, want), "%s for %s: %s needs %v, not %v", p.Name, system, member, want, got.needs)
				edges += len(want)
				for _, name := range got.variables {
					assert.Assert(t, slices.Contains(reads[member], name), "%s for %s: %s does not read %s", p.Name, system, member, name)
				}
				needed := false
				for _, names := range needs {
					needed = needed || slices.Contains(names, member)
				}
				assert.Equal(t, got.amber, !needed || strings.HasSuffix(member, "-plan"), "%s for %s: %s", p.Name, system, member)
				all = append(all, got.variables...)
			}
			slices.Sort(all)
			assert.DeepEqual(t, slices.Compact(all), reads[p.Name])
			again, err := write(made)
			assert.NilError(t, err)
			assert.Equal(t, string(again), string(text))
			pipelines++
		}
	}
	assert.Assert(t, pipelines > 50 && edges > 100, "%d pipelines, %d edges", pipelines, edges)
}

// read reads a pipeline back.
func read(t *testing.T, system string, text []byte) map[string]job {
	t.Helper()
	if system == "gitlab" {
		return readGitLab(t, text)
	}
	var file struct {
		Jobs map[string]struct {
			Needs []string
			Steps []struct {
				Run string
				Env map[string]string
			}
		}
	}
	assert.NilError(t, yaml.Unmarshal(text, &file))
	jobs := map[string]job{}
	for name, one := range file.Jobs {
		got := job{needs: one.Needs}
		for _, step := range one.Steps {
			assert.Assert(t, step.Run == "" || strings.Contains(step.Run, "  slipway "+name+" &\n"))
			got.amber = got.amber || strings.Contains(step.Run, "code=0\nfi\n")
			for variable, value := range step.Env {
				got.variables = append(got.variables, variable)
				assert.Assert(t, variable == "REPORT" || strings.Contains(value, "."+variable+" "), value)
			}
		}
		jobs[name] = got
	}
	return jobs
}

func readGitLab(t *testing.T, text []byte) map[string]job {
	t.Helper()
	var file map[string]any
	assert.NilError(t, yaml.Unmarshal(text, &file))
	jobs := map[string]job{}
	for name, one := range file {
		if slices.Contains([]string{"workflow", "stages", "variables", "default"}, name) {
			continue
		}
		var got struct {
			Needs     []struct{ Job string }
			Variables map[string]string
			Script    []string
			Allow     struct {
				Codes []int `yaml:"exit_codes"`
			} `yaml:"allow_failure"`
		}
		again, err := yaml.Marshal(one)
		assert.NilError(t, err)
		assert.NilError(t, yaml.Unmarshal(again, &got))
		assert.DeepEqual(t, got.Script, []string{"slipway " + name})
		own := job{amber: slices.Contains(got.Allow.Codes, int(report.RebootNeeded))}
		for _, need := range got.Needs {
			own.needs = append(own.needs, need.Job)
		}
		for variable := range strings.FieldsSeq(got.Variables["SLIPWAY_VARIABLES"]) {
			if !slices.ContainsFunc(env.Fixed(), func(v env.Variable) bool { return v.Name == variable }) {
				own.variables = append(own.variables, variable)
			}
		}
		jobs[name] = own
	}
	return jobs
}

func TestPipelines(t *testing.T) {
	r := club(t)
	c, err := contract.New(r)
	assert.NilError(t, err)
	made, err := pipeline.New(r, c, "club", pipeline.Keys{Command: "bin/club", Image: "registry.example.org/club:1", Runner: env.Names{"nix", "kvm"}})
	assert.NilError(t, err)
	for system, write := range writers {
		text, err := write(made)
		assert.NilError(t, err)
		golden.Assert(t, string(text), system+".golden.yml")
		assert.Equal(t, strings.Count(string(text), "bin/club club-fake-"), 2)
	}
}

func TestSecretsComeFromWhereSecretsAre(t *testing.T) {
	r, c := published(t)
	made, err := pipeline.New(r, c, "operator", pipeline.Keys{Command: "slipway"})
	assert.NilError(t, err)
	text, err := made.GitHub()
	assert.NilError(t, err)
	for _, line := range []string{
		"WEB_SSH_KEY: ${{ secrets.WEB_SSH_KEY }}", "WEB_SSH_KEY_FILE: ${{ vars.WEB_SSH_KEY_FILE }}",
		"WEB_SSH_HOST: ${{ vars.WEB_SSH_HOST }}", "DNS_TOKEN: ${{ secrets.DNS_TOKEN }}",
	} {
		assert.Assert(t, strings.Contains(string(text), line+"\n"), line)
	}
}

func TestWhatHasNoPipeline(t *testing.T) {
	r, c := published(t)
	for name, want := range map[string]string{
		"operater":         `"operater" is neither a group nor a program`,
		"operator-combine": `"operator-combine" is neither a group nor a program; close are operator-combined`,
		"operator-ssh-web": "operator-ssh-web-apply is one program, which needs no pipeline",
	} {
		_, err := pipeline.New(r, c, name, pipeline.Keys{})
		assert.ErrorContains(t, err, want)
		assert.Equal(t, report.CodeOf(err), report.Usage)
	}
}
