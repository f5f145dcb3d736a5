package pipeline

import (
	"slices"
	"strings"

	"fediversity.eu/slipway/targets/contract"
	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/report"
)

// forwardKey is the variable of a GitLab job that lists what it hands on.
const forwardKey = "SLIPWAY_VARIABLES"

// onlyForwarded takes out of the environment of a GitLab job what it does not hand
// on: GitLab gives all variables of a project to every job, those of other machines
// too. The names are read by awk, which every POSIX system has; values, and with them
// secrets, are on no command line.
const onlyForwarded = `unset -v $(awk 'BEGIN {
  split(ENVIRON["` + forwardKey + `"], names)
  for (i in names) keep[names[i]]
  for (name in ENVIRON) if (!(name in keep) && name ~ /^[A-Za-z_][A-Za-z0-9_]*$/) print name
}')`

// sources are what may start a pipeline in GitLab (GitLab, "CI/CD pipelines",
// CI_PIPELINE_SOURCE): machines change when somebody, a schedule or another pipeline
// says so. Of all else, such as a push or a pull request at GitHub, a pipeline has no
// job, and of what GitLab comes to know neither.
var sources = []string{"web", "api", "trigger", "schedule", "pipeline", "parent_pipeline"}

// NeedsLimit is how many jobs one may need in GitLab, unless an administrator has
// set another limit (GitLab, "CI/CD limits", ci_needs_size_limit).
const NeedsLimit = 50

// GitLab writes the pipeline as a .gitlab-ci.yml (GitLab, "CI/CD YAML syntax
// reference").
func (p *Pipeline) GitLab() ([]byte, error) {
	file := mapping{
		{"workflow", mapping{
			{"name", p.Name},
			{"rules", []any{
				mapping{{"if", "$CI_PIPELINE_SOURCE =~ /^(" + strings.Join(sources, "|") + ")$/"}, {"when", "always"}},
				mapping{{"when", "never"}},
			}},
		}},
		{"stages", []string{p.Verb}},
	}
	if p.phase != nil {
		// What the form of a pipeline that is started by hand asks for.
		file = append(file, entry{"variables", mapping{{phaseKey, mapping{
			{"description", p.phase.Description}, {"value", p.phase.Default}, {"options", p.phases()},
		}}}})
	}
	file = append(file, entry{"default", mapping{
		{"interruptible", false},
		{"before_script", []string{onlyForwarded}},
	}})
	for _, job := range p.Jobs {
		file = append(file, entry{job.Program.Name, p.gitLabJob(job)})
	}
	return document(p.head("gitlab"), file)
}

func (p *Pipeline) gitLabJob(j Job) mapping {
	needs := make([]any, 0, len(j.Needs)) // empty, it means that the job waits for nothing
	for _, name := range j.Needs {
		reads := slices.ContainsFunc(j.Records, func(p contract.Program) bool { return p.Name == name })
		needs = append(needs, mapping{{"job", name}, {"artifacts", reads}})
	}
	forwarded := []string{reportKey}
	variables := mapping{{reportKey, j.record()}, {progressKey, progress}}
	if len(j.Records) > 0 {
		forwarded = append(forwarded, recordsKey)
		variables = append(variables, entry{recordsKey, j.records()})
	}
	for _, v := range j.Variables {
		forwarded = append(forwarded, v.Name)
	}
	for _, v := range env.Fixed() {
		forwarded = append(forwarded, v.Name)
	}
	slices.Sort(forwarded)
	const busyRetries = 2 // more GitLab does not allow
	m := mapping{{"stage", p.Verb}}
	m = m.with(p.keys.Image != "", "image", p.keys.Image)
	m = m.with(len(p.keys.Runner) > 0, "tags", p.keys.Runner)
	m = append(m,
		entry{"needs", needs},
		entry{"resource_group", j.lock()},
		entry{"variables", append(variables, entry{forwardKey, strings.Join(slices.Compact(forwarded), "\n")})},
		entry{"script", []string{p.command(j)}},
		entry{"retry", mapping{{"max", busyRetries}, {"exit_codes", []int{int(report.Busy)}}}},
	)
	m = m.with(j.amber(), "allow_failure", mapping{{"exit_codes", []int{int(report.RebootNeeded)}}})
	return append(m, entry{"artifacts", mapping{{"when", "always"}, {"paths", []string{j.record()}}}})
}
