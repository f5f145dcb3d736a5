// Package pipeline writes the graph of a group as a pipeline of a CI system: one
// job a program, each after the jobs that it needs, with the variables that its
// program reads and no others. The CI system then does what an aggregate does in one
// process: it starts what can start, leaves out what needs a job that failed, and
// hands an effect the records of the machines before it, which tell where these are.
package pipeline

import (
	"fmt"
	"slices"
	"strings"

	"fediversity.eu/slipway/groups"
	"fediversity.eu/slipway/targets/contract"
	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/program"
	"fediversity.eu/slipway/targets/report"
)

// Keys say where the jobs run.
type Keys struct {
	Command string    `env:"PIPELINE_COMMAND,default=slipway" scope:"run" desc:"what runs a program in a job of a pipeline, before its name: a binary on the PATH or in the checkout"`
	Image   string    `env:"PIPELINE_IMAGE" scope:"run" desc:"container image of a pipeline's jobs; by default the runner's own"`
	Runner  env.Names `env:"PIPELINE_RUNNER" scope:"run" desc:"what the runners of a pipeline's jobs must have, separated by commas: tags (GitLab) or labels; by default none, self-hosted (GitHub) or docker (Forgejo)"`
}

// Pipeline is the graph of an aggregate, to be written for a CI system.
type Pipeline struct {
	Name  string // of the aggregate
	Group string
	Verb  string
	Jobs  []Job // each after those that it needs
	keys  Keys
	phase *contract.Key // phaseKey, where a job reads it
}

// Job is one program of a pipeline.
type Job struct {
	Program   contract.Program
	Needs     []string            // programs that must end healthy before it
	Needed    bool                // another job needs it
	Records   []contract.Program  // of those it needs, the deployments whose records it reads
	Variables []contract.Variable // what it is given, sorted by name
}

// reportKey is the variable that names the file of a job's record, which the
// pipeline sets itself.
const reportKey = "REPORT"

// recordsKey is the variable that names the records of machines which an effect
// reads. Where it follows machines, the pipeline sets it itself.
const recordsKey = "RECORDS"

// phaseKey is the variable that says whether there is a state yet. Whoever starts a
// pipeline says it, for that one run.
const phaseKey = "STATE_PHASE"

// New makes the pipeline of an aggregate, or of the combined program of the group
// of a name. published is the contract of the registry.
func New(r *program.Registry, published *contract.Contract, name string, keys Keys) (*Pipeline, error) {
	p, err := aggregate(r, name)
	if err != nil {
		return nil, err
	}
	whole, ok := published.Find(p.Name)
	if !ok {
		return nil, fmt.Errorf("%s is not published", p.Name)
	}
	needs, needed := r.Needs(p), map[string]bool{}
	for _, names := range needs {
		for _, name := range names {
			needed[name] = true
		}
	}
	var jobs []Job
	for _, share := range published.Shares(whole) {
		name := share.Program.Name
		slices.Sort(needs[name])
		job := Job{Program: share.Program, Needs: needs[name], Needed: needed[name], Variables: share.Variables}
		job.Records = job.reads(published)
		job.Variables = slices.DeleteFunc(job.Variables, func(v contract.Variable) bool {
			return v.Name == reportKey || v.Name == recordsKey && len(job.Records) > 0
		})
		jobs = append(jobs, job)
	}
	return &Pipeline{
		Name: p.Name, Group: p.Group, Verb: p.Verb, Jobs: inOrder(jobs), keys: keys, phase: phaseOf(published, jobs),
	}, nil
}

// reads lists the deployments whose records a job reads: those of the machines of its
// own group that it needs.
func (j Job) reads(published *contract.Contract) []contract.Program {
	if !slices.ContainsFunc(j.Variables, func(v contract.Variable) bool { return v.Name == recordsKey }) {
		return nil
	}
	var list []contract.Program
	for _, name := range j.Needs {
		if p, ok := published.Find(name); ok && p.Kind == program.Deployment && p.Group == j.Program.Group {
			list = append(list, p)
		}
	}
	return list
}

func aggregate(r *program.Registry, name string) (program.Program, error) {
	hint := "name a group, for all of it in order of dependency, or one of the programs that are for several machines"
	if slices.ContainsFunc(r.Groups(), func(g groups.Group) bool { return g.Name == name }) {
		name += "-" + string(program.Combined)
	}
	p, ok := r.Find(name)
	switch {
	case !ok:
		why := fmt.Errorf("%q is neither a group nor a program", name)
		if near := r.Close(name); len(near) > 0 {
			why = fmt.Errorf("%w; close are %s", why, strings.Join(near, ", "))
		}
		return p, &report.Fault{Code: report.Usage, What: "write the pipeline", Why: why, Hint: hint}
	case !p.Aggregate():
		return p, &report.Fault{Code: report.Usage, What: "write the pipeline", Why: fmt.Errorf("%s is one program, which needs no pipeline", p.Name), Hint: hint}
	}
	return p, nil
}

func phaseOf(published *contract.Contract, jobs []Job) *contract.Key {
	isPhase := func(v contract.Variable) bool { return v.Name == phaseKey }
	if !slices.ContainsFunc(jobs, func(j Job) bool { return slices.ContainsFunc(j.Variables, isPhase) }) {
		return nil
	}
	for _, key := range published.Keys() {
		if key.Name == phaseKey {
			return &key
		}
	}
	return nil
}

// phases lists the values of phaseKey.
func (p *Pipeline) phases() []string {
	return strings.Split(strings.TrimPrefix(p.phase.Type, "one of "), ", ")
}

// progressKey is the variable that says how a run speaks. Runners have terminals
// that nobody watches, and keep what was shown there as text: unless somebody says
// otherwise, jobs write lines.
const progressKey, progress = "PROGRESS", "plain"

// inOrder sorts jobs: each comes after those that it needs, and else as it was.
func inOrder(jobs []Job) []Job {
	ordered, placed := make([]Job, 0, len(jobs)), map[string]bool{}
	for len(ordered) < len(jobs) {
		before := len(ordered)
		for _, job := range jobs {
			waits := slices.ContainsFunc(job.Needs, func(name string) bool { return !placed[name] })
			if !placed[job.Program.Name] && !waits {
				ordered, placed[job.Program.Name] = append(ordered, job), true
			}
		}
		if len(ordered) == before {
			return jobs // a registry has no circles
		}
	}
	return ordered
}

// plan is the verb whose exit code 6 means that there are changes.
const plan = "plan"

// amber tells whether exit code 6 is a warning: where nothing waits for the job, and
// of a plan, which keeps no other from being made.
func (j Job) amber() bool { return !j.Needed || j.Program.Verb == plan }

// record is the file of a job's record.
func (j Job) record() string { return recordOf(j.Program) }

func recordOf(p contract.Program) string { return p.Name + ".json" }

// records is the value of recordsKey: the files lie where the job runs.
func (j Job) records() string {
	files := make([]string, 0, len(j.Records))
	for _, p := range j.Records {
		files = append(files, recordOf(p))
	}
	return strings.Join(files, ",")
}

// command is what runs a job's program.
func (p *Pipeline) command(j Job) string { return p.keys.Command + " " + j.Program.Name }

// lock is the name that jobs have in common which work on the same thing, in whichever
// pipeline.
func (j Job) lock() string { return j.Program.Group + "-" + j.Program.Machine + j.Program.Effect }

// head is the comment that a pipeline begins with.
func (p *Pipeline) head(system string) string {
	return fmt.Sprintf("# %s, written by: slipway pipeline %s %s\n# When the group changes, it is to be written anew.\n", p.Name, system, p.Name)
}
