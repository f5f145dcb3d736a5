// Package checks runs everything that says whether Slipway works: its tests, its
// linters, and the checks on real machines, each of which does what a user would
// do and looks at what came of it.
//
// The checks on machines are the tests in this folder, under the build tag
// "checks". The machines are in package guest, the nixpkgs that stands in for
// the real one in package nixpkgs.
package checks

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"fediversity.eu/slipway/internal/setup"
	"fediversity.eu/slipway/internal/toolchain"
	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/report"
)

// Check is one check.
type Check struct {
	Name        string // "deployment-ssh-hosts"
	Description string // one line
	// Test is the regular expression of the tests of this folder that it is.
	Test string
}

// OnMachines lists the checks that run on machines.
func OnMachines() []Check {
	return []Check{
		{"deployment-ssh-hosts", "deploys a trivial host by ssh: healthy, unchanged, one file changed, a failing unit", "^TestDeploymentSSHHosts$"},
		{"deployment-tf-hosts", "deploys a trivial host as a resource of OpenTofu: first run, no changes, drift, a failing unit, a lost state, import, destroy", "^TestDeploymentTF(Hosts|Local|Encrypted)$"},
		{"deployment-tf-inherent", "makes a database in PostgreSQL and a mount in OpenBao with a machine, and leaves both where the state is given up", "^TestDeploymentTFInherent$"},
		{"deployment-tf-incus-hosts", "makes a machine on a real Incus daemon from an image that it published: made, unchanged, changed in place, a failing unit, declared no more, destroyed", "^TestIncusHosts"},
		{"deployment-tf-incus-operator-hosts", "does so within a project, with a certificate restricted to it; what such a one may not do is refused, by us and by the daemon", "^TestIncusOperatorHosts"},
		{"deployment-platform", "deploys a hypervisor with a real Incus, a provider's machines on it and an operator's in its project, shuts the operator out and lets it in, and takes all of it down; and does all of it in one run, zone, delegation and inventory included", "^TestDeploymentPlatform"},
		{"image-publish", "publishes images to a real Incus daemon and to a folder that it fetches from: idempotent, cut off, not what they are said to be, with an empty password, older than is kept", "^TestImagePublish$"},
		{"deployment-bad-input", "tries what users get wrong: each is refused with what to do, and nothing is changed", "^TestDeploymentBadInput$"},
		{"deployment-switch-codes", "brings about each way in which a switch ends", "^TestDeploymentSwitchCodes$"},
		{"deployment-interruptions", "cuts links, fills disks and starts two runs at once", "^TestDeploymentInterruptions$"},
		{"deployment-confirm", "breaks the way in, and kills the deployer, at moments of a switch: the machine comes back by itself", "^TestDeploymentConfirm"},
		{"deployment-fencing", "stops, kills and cuts off runs while others are at work: a run without the lock changes nothing, and the way back leads to what was proved", "^TestDeploymentFencing$"},
		{"machine-mark", "meets another deployment's mark on a machine: nothing is done with it, unless it is taken over by name", "^TestMachineMark$"},
		{"deployment-rollback", "goes back to generations, plans, and leaves what is not proved out of the boot loader", "^TestDeployment(Rollback|PlansOfFileSystems)$"},
		{"deployment-reboot", "reboots where that is needed and allowed, and judges what came up", "^TestDeploymentReboot$"},
		{"deployment-aggregates", "deploys a group of which one machine is down and one does not get well: the rest is deployed, and everything is said", "^TestDeploymentAggregates$"},
		{"deployment-interrupt", "interrupts a deployment in each of its steps: nothing is left here, and the next run finds what is left there", "^TestDeploymentInterrupt$"},
		{"deployment-ci-environment", "deploys with no HOME, no terminal, a minimal environment and a read-only checkout", "^TestDeploymentCIEnvironment$"},
		{"deployment-evaluation-cache", "evaluates nothing twice, and everything that changed", "^TestDeploymentEvaluationCache$"},
		{"deployment-real-nixos", "builds every machine over the nixpkgs that CHECKS_NIXPKGS names, and deploys to a NixOS", "^TestDeploymentRealNixOS$"},
		{"deployment-verdicts", "brings about each way in which a unit or a probe is not well, on the bus of a machine and without it", "^Test(DeploymentVerdicts|VerdictContainers)"},
		{"verdict-healthy-machines", "looks at machines with all kinds of units that are well, booted, switched, restarted and booted again: nothing is found", "^TestVerdictHealthyMachines$"},
		{"contract-environment", "shows that programs read declared variables and children get no others", "^TestContractEnvironment$"},
		{"contract-exit-codes", "compares the exit codes of the binary and of mage, signals included", "^TestContractExitCodes$"},
		{"contract-layers", "takes layers from sources of every kind, under every decision, and refuses what is undecided, unpinned or not what was pinned", "^TestContractLayers"},
		{"contract-schema", "holds what is published to its JSON Schema, from the binary and from mage", "^TestContractSchema$"},
		{"contract-frontend", "lets a front-end that has the contract alone start every published program: it rejects unknown names and forwards exactly the declared variables", "^TestContractFrontend$"},
		{"apps-run", "links every program's name to the binary, and calls them by their names", "^TestAppsRun$"},
		{"shell-siblings", "sits down in bash, zsh and fish with the verbs of a deployment, in a terminal", "^TestShellSiblings$"},
		{"completion", "presses Tab in bash, zsh and fish, and holds the manual page to its form", "^TestCompletion$"},
		{"report-page", "opens pages about runs in a browser: two widths, light and dark, by keyboard, with 500 machines", "^TestReportPage$"},
		{"flake-evaluates", "evaluates every output of the flake over the stand-in nixpkgs with restricted evaluation, by an old Nix and a newer one, and runs an app", "^TestFlakeEvaluates$"},
		{"pipeline-lints", "shows the pipelines of every group to actionlint and to GitLab's schema", "^TestPipelineLints$"},
		{"pipeline-runs", "runs pipelines of GitLab on this host: jobs start in order, see what they read and nothing else, and leave their records", "^TestPipelineRuns$"},
		{"integrations-cold-start-bootstraps", "makes the first state before the first object, and goes on from a start that failed", "^TestColdStart"},
		{"integrations-bootstrap-of-the-backend-itself", "keeps the state here until the backend that it belongs to is up", "^TestBootstrapOfTheBackendItself"},
		{"integrations-steady-refuses-lost-state", "gives every answer that OpenTofu takes for a first run: each is refused, and nothing is made", "^TestSteadyRefusesLostState$"},
		{"integrations-plan-changes-nothing", "plans, and looks that no object, state, serial or lock changed", "^TestPlanChangesNothing$"},
		{"integrations-destroy-detaches-state", "destroys, and looks that the backend has no state afterwards", "^TestDestroyDetachesState$"},
		{"integrations-stale-lock-is-taken-back", "takes back the lock of a run that is provably gone, or vouched for", "^TestStaleLockIsTakenBack$"},
		{"integrations-foreign-lock-is-respected", "leaves the lock of a person or another program alone, and names its holder", "^TestForeignLockIsRespected$"},
		{"integrations-two-runs-one-lock", "starts runs that know nothing of each other over one state", "^TestTwoRunsOneLock$"},
		{"integrations-interrupt-releases", "sends each signal at each step: the state is written, the lock given back", "^TestInterruptReleases$"},
		{"integrations-kill-matrix", "kills at each step, and takes the power: nothing is made twice, no state is lost", "^Test(KillMatrix$|PowerLoss)"},
		{"integrations-leftovers", "comes back to what a killed run left, when another has worked on: nothing is written over", "^TestLeftovers$"},
		{"integrations-backend-faults", "lets the state backend fail in each way that was met", "^TestBackendFaults$"},
		{"integrations-secrets-stay-out", "looks for secrets wherever they must not be", "^TestSecretsStayOut$"},
		{"readme-commands", "runs the commands of the README", "^TestReadmeCommands$"},
		{"library-import", "declares groups in a module of its own, as a user would", "^TestLibraryImport$"},
		{"integrations-state-backend", "kills the state backend while it writes, fills its disk, lets OpenTofu use it, and compares it with another", "^TestStateBackend"},
		{"effects-dns", "publishes zones to a BIND, a Knot and a PowerDNS, spoils them, and breaks the way there", "^TestDNS"},
		{"effects-registrars", "delegates signed domains at every registrar's stand-in, from a zone of BIND's, and refuses what would take them off the net", "^TestRegistrars$"},
		{"effects-netbox", "keeps groups in a NetBox: what is made, put right, left alone and deleted, and what is said", "^TestNetBox"},
		{"guests", "boots, cuts, kills and cleans up test machines", "^TestGuest"},
		{"switch-program", "holds the stand-in's switch program to the contract of the real one", "^TestSwitch"},
		{"stand-in", "runs the declared machines over the stand-in nixpkgs, with an old Nix and a newer one", "^Test(DeclaredMachinesRun|Later|Sites|Port)"},
	}
}

// Keys are what the checks read.
type Keys struct {
	Guest    string     `env:"CHECKS_GUEST" oneof:"vm,container" desc:"kind of guest for all checks on machines, instead of what each is made for"`
	Nixpkgs  env.Path   `env:"CHECKS_NIXPKGS" desc:"a real nixpkgs, to run the checks over that can use it"`
	NetBox   string     `env:"CHECKS_NETBOX,default=essential" oneof:"essential,all" desc:"how much of the suite of the inventory runs over NetBox itself"`
	MaySkip  env.Names  `env:"CHECKS_MAY_SKIP" desc:"parts whose absence may skip a check, separated by commas; when set, a skip for another reason counts as a failure"`
	Unsteady env.Number `env:"CHECKS_UNSTEADY,default=0" desc:"how many tests on machines may fail and pass when they are run again by themselves; with one more, each of them counts as failed"`
}

// Run is one run of checks.
type Run struct {
	Environment env.Environment
	Log         *report.Log
	Out         io.Writer
	keys        Keys
	tools       toolchain.Keys
	module      string // directory of the module
}

// Coordinates are the keys that a run reads.
func (r *Run) Coordinates() []any { return []any{&r.keys, &r.tools, &env.Cache{}} }

// load fills the coordinates and finds the module.
func (r *Run) load(ctx context.Context) error {
	if err := r.Environment.Load(ctx, env.For{}, &r.keys, &r.tools); err != nil {
		return &report.Fault{Code: report.Usage, What: "read the coordinates", Why: err}
	}
	module, err := toolchain.Module()
	if err != nil {
		return &report.Fault{Code: report.Usage, What: "find the module", Why: err, Hint: "checks run in a checkout of Slipway"}
	}
	r.module = module
	return nil
}

// every is the regular expression of the tests of all checks on machines.
func every() string {
	var tests []string
	for _, c := range OnMachines() {
		tests = append(tests, c.Test)
	}
	return strings.Join(tests, "|")
}

// All runs everything and ends with a line of counts.
func (r *Run) All(ctx context.Context) error {
	if err := r.load(ctx); err != nil {
		return err
	}
	var t tally
	err := errors.Join(
		r.lint(ctx, &t),
		r.test(ctx, &t, "tests", "-timeout", "30m", "./..."),
		// Two packages at a time: most of their tests wait. More are no faster, and an
		// emulated machine that shares its processors with many is too slow to tell a
		// lost link from a busy one.
		r.test(ctx, &t, machines, "-tags", "checks", "-run", every(), "-timeout", "80m", "-p", "2", "./checks/..."),
	)
	if err == nil {
		err = r.again(ctx, &t)
	}
	t.forgive(int(r.keys.Unsteady))
	t.print(r.Log)
	_, _ = fmt.Fprintln(r.Out, t.line())
	return t.err(err)
}

// Setup installs what the checks need, beside what programs need, and makes the
// parts that no distribution has.
func (r *Run) Setup(ctx context.Context) error {
	if err := r.load(ctx); err != nil {
		return err
	}
	if err := setup.Run(ctx, r.Environment, r.Log, slices.Concat(setup.Parts(), setup.CheckParts())); err != nil {
		return err
	}
	return r.prepare(ctx, preparations())
}

// One runs one of the checks on machines.
func (r *Run) One(ctx context.Context, c Check) error {
	if err := r.load(ctx); err != nil {
		return err
	}
	var t tally
	err := r.test(ctx, &t, c.Name, "-tags", "checks", "-run", c.Test, "-timeout", "60m", "-p", "1", "-count", "1", "./checks/...")
	t.print(r.Log)
	_, _ = fmt.Fprintln(r.Out, t.line())
	return t.err(err)
}

// Bench measures, and prints what go test -bench prints.
func (r *Run) Bench(ctx context.Context) error {
	if err := r.load(ctx); err != nil {
		return err
	}
	lines := r.Log.In("bench").Lines()
	defer func() { _ = lines.Close() }()
	bench := r.tools.Go(r.Environment, r.module, r.own(),
		"test", "-tags", "checks", "-run", "^$", "-bench", ".", "-benchtime", "5x", "-timeout", "60m", "./checks/bench", "./checks/integrations")
	bench.Stdout, bench.Stderr, bench.Grace = r.Out, lines, testGrace
	return bench.Run(ctx)
}

// Lint runs the linters alone.
func (r *Run) Lint(ctx context.Context) error {
	if err := r.load(ctx); err != nil {
		return err
	}
	var t tally
	err := r.lint(ctx, &t)
	t.print(r.Log)
	_, _ = fmt.Fprintln(r.Out, t.line())
	return t.err(err)
}
