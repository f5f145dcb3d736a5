package pipeline_test

import (
	"path"
	"regexp"
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
	amber            bool     // exit code 6 is a warning
	handed           []string // records that it is given
	fetched          []string // what it gets of the artefacts of others, by name or pattern
}

// TestEveryPipelineHasEveryEdgeAndEveryVariable reads back the pipelines of every
// aggregate, and holds them to the registry and to the contract.
func TestEveryPipelineHasEveryEdgeAndEveryVariable(t *testing.T) {
	r, c := published(t)
	reads := map[string][]string{}
	for _, p := range c.Programs {
		reads[p.Name] = c.Variables(p)
	}
	pipelines, edges, handed := 0, 0, 0
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
				machines := []string{}
				for _, name := range want {
					if before, _ := c.Find(name); before.Machine != "" && slices.Contains(reads[member], "RECORDS") {
						machines = append(machines, name)
					}
				}
				checkRecords(t, got, machines, p.Name+" for "+system+": "+member)
				handed += len(machines)
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
	assert.Assert(t, pipelines > 50 && edges > 100 && handed > 100, "%d pipelines, %d edges, %d records", pipelines, edges, handed)
}

// checkRecords shows that a job is given the records of machines, and that each of
// them is fetched.
func checkRecords(t *testing.T, got job, machines []string, what string) {
	t.Helper()
	files := make([]string, 0, len(machines))
	for _, name := range machines {
		files = append(files, name+".json")
		matched := slices.ContainsFunc(got.fetched, func(pattern string) bool {
			ok, err := path.Match(pattern, name)
			assert.NilError(t, err)
			return ok
		})
		assert.Assert(t, matched, "%s: %s is not among %v", what, name, got.fetched)
	}
	assert.Assert(t, slices.Equal(got.handed, files), "%s is given %v, not %v", what, got.handed, files)
	assert.Assert(t, len(machines) > 0 || len(got.fetched) == 0, "%s gets %v", what, got.fetched)
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
				Run  string
				Env  map[string]string
				Uses string
				With struct {
					Pattern string
					Merge   bool `yaml:"merge-multiple"`
				}
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
			if strings.Contains(step.Uses, "/download-artifact@") {
				assert.Assert(t, step.With.Merge && len(got.variables) == 0) // into the folder, before the program
				got.fetched = append(got.fetched, step.With.Pattern)
			}
			for variable, value := range step.Env {
				got.variables = append(got.variables, variable)
				if variable == "RECORDS" && !strings.HasPrefix(value, "$") {
					got.handed = strings.Split(value, ",")
					continue
				}
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
			Needs []struct {
				Job       string
				Artifacts bool
			}
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
			if need.Artifacts {
				own.fetched = append(own.fetched, need.Job)
			}
		}
		if records := got.Variables["RECORDS"]; records != "" {
			own.handed = strings.Split(records, ",")
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
		assert.Equal(t, strings.Count(string(text), "bin/club club-"), 4)
		assert.Equal(t, strings.Count(string(text), "RECORDS: club-fake-db-1-apply.json,club-fake-web-apply.json\n"), 1) // names, and not bell
	}
}

func TestWhatStartsAPipelineInGitLab(t *testing.T) {
	var file struct {
		Workflow struct{ Rules []struct{ If, When string } }
	}
	written(t, (*pipeline.Pipeline).GitLab, &file)
	// starts reads the rules as GitLab does: the first one that matches counts.
	starts := func(source string) bool {
		for _, rule := range file.Workflow.Rules {
			pattern, ok := strings.CutPrefix(rule.If, "$CI_PIPELINE_SOURCE =~ ")
			assert.Assert(t, ok || rule.If == "", rule.If)
			if rule.If == "" || regexp.MustCompile(strings.Trim(pattern, "/")).MatchString(source) {
				return rule.When == "always"
			}
		}
		return false
	}
	for source, want := range map[string]bool{
		"web": true, "api": true, "trigger": true, "schedule": true, "pipeline": true, "parent_pipeline": true,
		"push": false, "merge_request_event": false, "external_pull_request_event": false, "external": false, "chat": false,
		"webide": false, "security_orchestration_policy": false, "pipeline_execution_policy_schedule": false, "": false, "of a later GitLab": false,
	} {
		assert.Equal(t, starts(source), want, source)
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
