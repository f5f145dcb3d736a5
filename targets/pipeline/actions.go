package pipeline

import (
	"fmt"
	"slices"
	"strings"

	"fediversity.eu/slipway/targets/report"
)

// actions is what differs between the systems that read GitHub's workflows.
type actions struct {
	name     string
	runner   string // label of a runner, by default
	checkout string
	upload   string // puts a file among the artefacts
	download string // gets files from there
	callable bool   // a workflow may be called by others
}

var (
	gitHub = actions{"github", "self-hosted", "actions/checkout@v4", "actions/upload-artifact@v4", "actions/download-artifact@v4", true}
	// Forgejo's own copies for artefacts: GitHub's refuse any other server.
	forgejo = actions{"forgejo", "docker", "actions/checkout@v4", "forgejo/upload-artifact@v4", "forgejo/download-artifact@v4", false}
)

// GitHub writes the pipeline as a workflow of GitHub Actions (GitHub, "Workflow
// syntax for GitHub Actions").
func (p *Pipeline) GitHub() ([]byte, error) { return p.workflow(gitHub) }

// Forgejo writes the pipeline as a workflow of Forgejo Actions (Forgejo, "Forgejo
// Actions reference").
func (p *Pipeline) Forgejo() ([]byte, error) { return p.workflow(forgejo) }

func (p *Pipeline) workflow(a actions) ([]byte, error) {
	on := mapping{{"workflow_dispatch", p.inputs("choice")}}.with(a.callable, "workflow_call", p.inputs("string"))
	jobs := mapping{}
	for _, job := range p.Jobs {
		jobs = append(jobs, entry{job.Program.Name, p.actionsJob(a, job)})
	}
	return document(p.head(a.name), mapping{
		{"name", p.Name},
		{"on", on},
		{"permissions", mapping{{"contents", "read"}}},
		// Of the run and not of each job: of those that wait, GitHub keeps the latest
		// alone (GitHub, "Control the concurrency of workflows and jobs"), and a run
		// that loses a job is torn in two. What two groups share, programs lock.
		{"concurrency", mapping{{"group", "slipway-" + p.Group}, {"cancel-in-progress", false}}},
		{"jobs", jobs},
	})
}

// inputs is what whoever starts a workflow is asked for.
func (p *Pipeline) inputs(kind string) mapping {
	if p.phase == nil {
		return mapping{}
	}
	phase := mapping{{"description", p.phase.Description}, {"type", kind}, {"default", p.phase.Default}}
	return mapping{{"inputs", mapping{{phaseKey, phase.with(kind == "choice", "options", p.phases())}}}}
}

func (p *Pipeline) actionsJob(a actions, j Job) mapping {
	runner := []string(p.keys.Runner)
	if len(runner) == 0 {
		runner = []string{a.runner}
	}
	// Of the steps, only this one sees the variables.
	given := mapping{{reportKey, j.record()}}.with(len(j.Records) > 0, recordsKey, j.records())
	for _, v := range j.Variables {
		value := "vars." + v.Name
		switch {
		case v.Secret:
			value = "secrets." + v.Name
		case v.Name == phaseKey:
			value = "inputs." + v.Name
		case v.Name == progressKey:
			value += " || '" + progress + "'"
		}
		given = append(given, entry{v.Name, "${{ " + value + " }}"})
	}
	m := mapping{{"runs-on", runner}}
	m = m.with(p.keys.Image != "", "container", p.keys.Image)
	m = m.with(len(j.Needs) > 0, "needs", j.Needs)
	steps := []any{mapping{{"uses", a.checkout}}}
	for _, pattern := range j.patterns() {
		steps = append(steps, mapping{
			{"uses", a.download},
			{"with", mapping{{"pattern", pattern}, {"merge-multiple", true}}},
		})
	}
	return append(m, entry{"steps", append(
		steps,
		mapping{{"name", j.Program.Name}, {"run", p.patiently(j)}, {"env", given}},
		mapping{
			{"if", "always()"},
			{"uses", a.upload},
			{"with", mapping{{"name", j.Program.Name}, {"path", j.record()}}},
		},
	)})
}

// patterns match the artefacts with the records that a job reads: one step for any
// number of machines. A record that none of them brings is missed by the program,
// which is given the name of each.
func (j Job) patterns() []string {
	var list []string
	for _, p := range j.Records {
		list = append(list, p.Group+"-"+p.Method+"-*-"+p.Verb)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// patiently is the script of a step: these systems neither try again nor know a
// failure that is only a warning. The program runs beside the shell, which hands on
// the signals that it gets: a job that is cancelled ends as a run that is interrupted.
func (p *Pipeline) patiently(j Job) string {
	var b strings.Builder
	fmt.Fprintf(&b, `stopped=
trap 'stopped=1; kill -TERM "$program" 2>/dev/null || :' INT TERM
for pause in 60 120 0; do
  if [ -n "$stopped" ]; then exit %[3]d; fi
  code=0
  %[1]s &
  program=$!
  if [ -n "$stopped" ]; then kill -TERM "$program" 2>/dev/null || :; fi
  wait "$program" || code=$?
  while [ -n "$stopped" ] && kill -0 "$program" 2>/dev/null; do
    code=0
    wait "$program" || code=$?
  done
  if [ -n "$stopped" ]; then exit "$code"; fi
  if [ "$code" -ne %[2]d ] || [ "$pause" -eq 0 ]; then break; fi
  echo "busy: once more in $pause seconds"
  sleep "$pause"
done
`, p.command(j), report.Busy, report.Terminated)
	if j.amber() {
		fmt.Fprintf(&b, `if [ "$code" -eq %d ]; then
  echo "::warning::%s ended with exit code %d: %s"
  code=0
fi
`, report.RebootNeeded, j.Program.Name, report.RebootNeeded, j.changes())
	}
	b.WriteString("exit \"$code\"\n")
	return b.String()
}

// changes says what exit code 6 means of a program.
func (j Job) changes() string {
	if j.Program.Verb == plan {
		return "there are changes"
	}
	return "only a reboot brings in all of the new system"
}
