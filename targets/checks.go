package targets

import (
	"context"

	"github.com/magefile/mage/mg"

	"fediversity.eu/slipway/checks"
	"fediversity.eu/slipway/targets/front"
)

// checkTasks are the checks as tasks of the magefile: the binary has none, since
// they need a checkout.
func checkTasks() []front.Task {
	task := func(name, description string, run func(*checks.Run, context.Context) error) front.Task {
		return front.Task{
			Name: "checks-" + name, Description: description, Keys: (&checks.Run{}).Coordinates(),
			Run: func(ctx context.Context, call front.Call) error {
				return run(&checks.Run{Environment: call.Environment, Log: call.Log, Out: call.Out}, ctx)
			},
		}
	}
	tasks := []front.Task{
		task("all", "runs every test, linter and check", (*checks.Run).All),
		task("setup", "installs what setup does, and what the checks need", (*checks.Run).Setup),
		task("lint", "runs the linters", (*checks.Run).Lint),
		task("bench", "measures what a user waits for, beside something to compare it with", (*checks.Run).Bench),
	}
	for _, c := range checks.OnMachines() {
		tasks = append(tasks, task(c.Name, c.Description, func(r *checks.Run, ctx context.Context) error { return r.One(ctx, c) }))
	}
	return tasks
}

// Checks is the namespace of the checks.
type Checks mg.Namespace

// All runs every test, linter and check.
func (Checks) All(ctx context.Context) error { return run(ctx, "checks-all") }

// Setup installs what setup does, and what the checks need.
func (Checks) Setup(ctx context.Context) error { return run(ctx, "checks-setup") }

// Lint runs the linters.
func (Checks) Lint(ctx context.Context) error { return run(ctx, "checks-lint") }

// DeploymentSshHosts deploys a trivial host by ssh: healthy, unchanged, one file changed, a failing unit.
func (Checks) DeploymentSshHosts(ctx context.Context) error { //nolint:revive // Mage makes the target of it
	return run(ctx, "checks-deployment-ssh-hosts")
}

// DeploymentTfHosts deploys a trivial host as a resource of OpenTofu: first run, no changes, drift, a failing unit, a lost state, import, destroy.
func (Checks) DeploymentTfHosts(ctx context.Context) error {
	return run(ctx, "checks-deployment-tf-hosts")
}

// DeploymentTfIncusHosts makes a machine on a real Incus daemon from an image that it published: made, unchanged, changed in place, a failing unit, declared no more, destroyed.
func (Checks) DeploymentTfIncusHosts(ctx context.Context) error {
	return run(ctx, "checks-deployment-tf-incus-hosts")
}

// DeploymentTfIncusOperatorHosts does so within a project, with a certificate restricted to it; what such a one may not do is refused, by us and by the daemon.
func (Checks) DeploymentTfIncusOperatorHosts(ctx context.Context) error {
	return run(ctx, "checks-deployment-tf-incus-operator-hosts")
}

// DeploymentPlatform deploys a hypervisor with a real Incus, a provider's machines on it and an operator's in its project, shuts the operator out and lets it in, and takes all of it down; and does all of it in one run, zone, delegation and inventory included.
func (Checks) DeploymentPlatform(ctx context.Context) error {
	return run(ctx, "checks-deployment-platform")
}

// ImagePublish publishes images to a real Incus daemon and to a folder that it fetches from: idempotent, cut off, not what they are said to be, with an empty password, older than is kept.
func (Checks) ImagePublish(ctx context.Context) error { return run(ctx, "checks-image-publish") }

// DeploymentBadInput tries what users get wrong: each is refused with what to do, and nothing is changed.
func (Checks) DeploymentBadInput(ctx context.Context) error {
	return run(ctx, "checks-deployment-bad-input")
}

// DeploymentSwitchCodes brings about each way in which a switch ends.
func (Checks) DeploymentSwitchCodes(ctx context.Context) error {
	return run(ctx, "checks-deployment-switch-codes")
}

// DeploymentInterruptions cuts links, fills disks and starts two runs at once.
func (Checks) DeploymentInterruptions(ctx context.Context) error {
	return run(ctx, "checks-deployment-interruptions")
}

// DeploymentConfirm breaks the way in, and kills the deployer, at moments of a switch: the machine comes back by itself.
func (Checks) DeploymentConfirm(ctx context.Context) error {
	return run(ctx, "checks-deployment-confirm")
}

// DeploymentFencing stops, kills and cuts off runs while others are at work: a run without the lock changes nothing, and the way back leads to what was proved.
func (Checks) DeploymentFencing(ctx context.Context) error {
	return run(ctx, "checks-deployment-fencing")
}

// MachineMark meets another deployment's mark on a machine: nothing is done with it, unless it is taken over by name.
func (Checks) MachineMark(ctx context.Context) error {
	return run(ctx, "checks-machine-mark")
}

// DeploymentRollback goes back to generations, plans, and leaves what is not proved out of the boot loader.
func (Checks) DeploymentRollback(ctx context.Context) error {
	return run(ctx, "checks-deployment-rollback")
}

// DeploymentReboot reboots where that is needed and allowed, and judges what came up.
func (Checks) DeploymentReboot(ctx context.Context) error {
	return run(ctx, "checks-deployment-reboot")
}

// DeploymentAggregates deploys a group of which one machine is down and one does not get well: the rest is deployed, and everything is said.
func (Checks) DeploymentAggregates(ctx context.Context) error {
	return run(ctx, "checks-deployment-aggregates")
}

// DeploymentInterrupt interrupts a deployment in each of its steps: nothing is left here, and the next run finds what is left there.
func (Checks) DeploymentInterrupt(ctx context.Context) error {
	return run(ctx, "checks-deployment-interrupt")
}

// DeploymentCiEnvironment deploys with no HOME, no terminal, a minimal environment and a read-only checkout.
func (Checks) DeploymentCiEnvironment(ctx context.Context) error {
	return run(ctx, "checks-deployment-ci-environment")
}

// DeploymentEvaluationCache evaluates nothing twice, and everything that changed.
func (Checks) DeploymentEvaluationCache(ctx context.Context) error {
	return run(ctx, "checks-deployment-evaluation-cache")
}

// DeploymentRealNixos builds every machine over the nixpkgs that CHECKS_NIXPKGS names, and deploys to a NixOS.
func (Checks) DeploymentRealNixos(ctx context.Context) error {
	return run(ctx, "checks-deployment-real-nixos")
}

// DeploymentVerdicts brings about each way in which a unit or a probe is not well, on the bus of a machine and without it.
func (Checks) DeploymentVerdicts(ctx context.Context) error {
	return run(ctx, "checks-deployment-verdicts")
}

// VerdictHealthyMachines looks at machines with all kinds of units that are well, booted, switched, restarted and booted again: nothing is found.
func (Checks) VerdictHealthyMachines(ctx context.Context) error {
	return run(ctx, "checks-verdict-healthy-machines")
}

// ContractEnvironment shows that programs read declared variables and children get no others.
func (Checks) ContractEnvironment(ctx context.Context) error {
	return run(ctx, "checks-contract-environment")
}

// ContractExitCodes compares the exit codes of the binary and of mage, signals included.
func (Checks) ContractExitCodes(ctx context.Context) error {
	return run(ctx, "checks-contract-exit-codes")
}

// DeploymentTfInherent makes a database in PostgreSQL and a mount in OpenBao with a machine, and leaves both where the state is given up.
func (Checks) DeploymentTfInherent(ctx context.Context) error {
	return run(ctx, "checks-deployment-tf-inherent")
}

// ContractLayers takes layers from sources of every kind, under every decision, and refuses what is undecided, unpinned or not what was pinned.
func (Checks) ContractLayers(ctx context.Context) error { return run(ctx, "checks-contract-layers") }

// ContractSchema holds what is published to its JSON Schema, from the binary and from mage.
func (Checks) ContractSchema(ctx context.Context) error { return run(ctx, "checks-contract-schema") }

// ContractFrontend lets a front-end that has the contract alone start every published program: it rejects unknown names and forwards exactly the declared variables.
func (Checks) ContractFrontend(ctx context.Context) error {
	return run(ctx, "checks-contract-frontend")
}

// AppsRun links every program's name to the binary, and calls them by their names.
func (Checks) AppsRun(ctx context.Context) error { return run(ctx, "checks-apps-run") }

// ShellSiblings sits down in bash, zsh and fish with the verbs of a deployment, in a terminal.
func (Checks) ShellSiblings(ctx context.Context) error { return run(ctx, "checks-shell-siblings") }

// Completion presses Tab in bash, zsh and fish, and holds the manual page to its form.
func (Checks) Completion(ctx context.Context) error { return run(ctx, "checks-completion") }

// ReportPage opens pages about runs in a browser: two widths, light and dark, by keyboard, with 500 machines.
func (Checks) ReportPage(ctx context.Context) error { return run(ctx, "checks-report-page") }

// ReadmeCommands runs the commands of the README.
func (Checks) ReadmeCommands(ctx context.Context) error { return run(ctx, "checks-readme-commands") }

// LibraryImport declares groups in a module of its own, as a user would.
func (Checks) LibraryImport(ctx context.Context) error { return run(ctx, "checks-library-import") }

// IntegrationsStateBackend kills the state backend while it writes, fills its disk, lets OpenTofu use it, and compares it with another.
func (Checks) IntegrationsStateBackend(ctx context.Context) error {
	return run(ctx, "checks-integrations-state-backend")
}

// EffectsDns publishes zones to a BIND, a Knot and a PowerDNS, spoils them, and breaks the way there.
func (Checks) EffectsDns(ctx context.Context) error { return run(ctx, "checks-effects-dns") } //nolint:revive // Mage makes the target of it

// EffectsRegistrars delegates signed domains at every registrar's stand-in, from a zone of BIND's, and refuses what would take them off the net.
func (Checks) EffectsRegistrars(ctx context.Context) error {
	return run(ctx, "checks-effects-registrars")
}

// EffectsNetbox keeps groups in a NetBox: what is made, put right, left alone and deleted, and what is said.
func (Checks) EffectsNetbox(ctx context.Context) error { return run(ctx, "checks-effects-netbox") }

// Guests boots, cuts, kills and cleans up test machines.
func (Checks) Guests(ctx context.Context) error { return run(ctx, "checks-guests") }

// SwitchProgram holds the stand-in's switch program to the contract of the real one.
func (Checks) SwitchProgram(ctx context.Context) error { return run(ctx, "checks-switch-program") }

// StandIn runs the declared machines over the stand-in nixpkgs, with an old Nix and a newer one.
func (Checks) StandIn(ctx context.Context) error { return run(ctx, "checks-stand-in") }

// Bench measures what a user waits for, beside something to compare it with.
func (Checks) Bench(ctx context.Context) error { return run(ctx, "checks-bench") }

// FlakeEvaluates evaluates every output of the flake over the stand-in nixpkgs with restricted evaluation, by an old Nix and a newer one, and runs an app.
func (Checks) FlakeEvaluates(ctx context.Context) error { return run(ctx, "checks-flake-evaluates") }

// PipelineLints shows the pipelines of every group to actionlint and to GitLab's schema.
func (Checks) PipelineLints(ctx context.Context) error { return run(ctx, "checks-pipeline-lints") }

// PipelineRuns runs pipelines of GitLab on this host: jobs start in order, see what they read and nothing else, and leave their records.
func (Checks) PipelineRuns(ctx context.Context) error { return run(ctx, "checks-pipeline-runs") }

// IntegrationsColdStartBootstraps makes the first state before the first object, and goes on from a start that failed.
func (Checks) IntegrationsColdStartBootstraps(ctx context.Context) error {
	return run(ctx, "checks-integrations-cold-start-bootstraps")
}

// IntegrationsBootstrapOfTheBackendItself keeps the state here until the backend that it belongs to is up.
func (Checks) IntegrationsBootstrapOfTheBackendItself(ctx context.Context) error {
	return run(ctx, "checks-integrations-bootstrap-of-the-backend-itself")
}

// IntegrationsSteadyRefusesLostState gives every answer that OpenTofu takes for a first run: each is refused, and nothing is made.
func (Checks) IntegrationsSteadyRefusesLostState(ctx context.Context) error {
	return run(ctx, "checks-integrations-steady-refuses-lost-state")
}

// IntegrationsPlanChangesNothing plans, and looks that no object, state, serial or lock changed.
func (Checks) IntegrationsPlanChangesNothing(ctx context.Context) error {
	return run(ctx, "checks-integrations-plan-changes-nothing")
}

// IntegrationsDestroyDetachesState destroys, and looks that the backend has no state afterwards.
func (Checks) IntegrationsDestroyDetachesState(ctx context.Context) error {
	return run(ctx, "checks-integrations-destroy-detaches-state")
}

// IntegrationsStaleLockIsTakenBack takes back the lock of a run that is provably gone, or vouched for.
func (Checks) IntegrationsStaleLockIsTakenBack(ctx context.Context) error {
	return run(ctx, "checks-integrations-stale-lock-is-taken-back")
}

// IntegrationsForeignLockIsRespected leaves the lock of a person or another program alone, and names its holder.
func (Checks) IntegrationsForeignLockIsRespected(ctx context.Context) error {
	return run(ctx, "checks-integrations-foreign-lock-is-respected")
}

// IntegrationsTwoRunsOneLock starts runs that know nothing of each other over one state.
func (Checks) IntegrationsTwoRunsOneLock(ctx context.Context) error {
	return run(ctx, "checks-integrations-two-runs-one-lock")
}

// IntegrationsInterruptReleases sends each signal at each step: the state is written, the lock given back.
func (Checks) IntegrationsInterruptReleases(ctx context.Context) error {
	return run(ctx, "checks-integrations-interrupt-releases")
}

// IntegrationsKillMatrix kills at each step, and takes the power: nothing is made twice, no state is lost.
func (Checks) IntegrationsKillMatrix(ctx context.Context) error {
	return run(ctx, "checks-integrations-kill-matrix")
}

// IntegrationsBackendFaults lets the state backend fail in each way that was met.
func (Checks) IntegrationsBackendFaults(ctx context.Context) error {
	return run(ctx, "checks-integrations-backend-faults")
}

// IntegrationsSecretsStayOut looks for secrets wherever they must not be.
func (Checks) IntegrationsSecretsStayOut(ctx context.Context) error {
	return run(ctx, "checks-integrations-secrets-stay-out")
}

// IntegrationsLeftovers comes back to what a killed run left, when another has worked on: nothing is written over.
func (Checks) IntegrationsLeftovers(ctx context.Context) error {
	return run(ctx, "checks-integrations-leftovers")
}
