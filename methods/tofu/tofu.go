// Package tofu runs OpenTofu so that no state is lost.
//
// The program keeps no state: it lives in the caller's HTTP backend. OpenTofu
// alone takes an absent, empty or garbled answer of that backend for a first run
// and makes everything again; killed, it leaves a lock and forgets what it made.
// Here OpenTofu never speaks with the backend. A run takes the lock, reads the
// state and judges it, gives it to OpenTofu through a broker, writes what comes
// back into a journal and then into the backend, and believes nothing that it has
// not read back.
//
// What is deployed is handed in as files, with the providers that serve it; this
// package knows nothing of machines.
package tofu

import (
	"context"
	"time"

	"github.com/hashicorp/terraform-exec/tfexec"

	"fediversity.eu/slipway/methods/tofu/backend"
	"fediversity.eu/slipway/methods/tofu/binary"
	"fediversity.eu/slipway/methods/tofu/ledger"
	"fediversity.eu/slipway/methods/tofu/lock"
	"fediversity.eu/slipway/methods/tofu/state"
	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/report"
)

// Keys say in what phase the state is and what the caller vouches for.
type Keys struct {
	Phase      string     `env:"STATE_PHASE,default=steady" oneof:"steady,cold,bootstrap" desc:"steady: the state must be there; cold: there is none yet, make it; bootstrap: the state backend itself is yet to be made by this deployment"`
	Lineage    string     `env:"STATE_LINEAGE" scope:"machine" desc:"lineage that the state must have, as the last run printed it"`
	Serial     env.Count  `env:"STATE_SERIAL" scope:"machine" desc:"serial that the state must have reached, as the last run printed it"`
	Dir        env.Path   `env:"STATE_DIR" scope:"machine" desc:"folder for what a run that is killed leaves to the next; by default one for each state in the cache folder"`
	Owner      string     `env:"STATE_LOCK_OWNER" scope:"machine" desc:"name under which this deployment takes locks, instead of its own; everybody who tries the lock sees it"`
	Takeover   string     `env:"STATE_LOCK_TAKEOVER" scope:"machine" desc:"id of a lock whose run is certainly over, or own for any lock of this deployment"`
	Orphans    string     `env:"STATE_ORPHANS,default=refuse" oneof:"refuse,import,replace" desc:"what to do with objects that a killed run made and that are in no state: refuse names them, import takes them in by their id, replace removes and makes them again"`
	Abandon    string     `env:"STATE_ABANDON" scope:"machine" desc:"name of a run that was killed, to forget what it left: whoever sets it has looked for its objects and removed them; with STATE_ORPHANS=import or replace, only those whose fate is unknown"`
	Aside      string     `env:"STATE_ASIDE" scope:"machine" desc:"name of a state that a killed run left and that the backend has gone on without, as the refusal gives it: it is kept in a folder beside, and the run goes on from the backend's"`
	Forget     env.Names  `env:"STATE_FORGET" scope:"machine" desc:"addresses of objects in the state that nothing declares any more, separated by commas: they stay where they are, and are in no state from then on"`
	Remove     env.Names  `env:"STATE_REMOVE" scope:"machine" desc:"addresses of objects in the state that nothing declares any more, separated by commas: they are removed, with all they hold"`
	Encryption env.Secret `env:"TF_ENCRYPTION" desc:"OpenTofu's state encryption, as it documents it" lines:"several"`
	PlanExit   string     `env:"PLAN_EXIT,default=plain" oneof:"plain,detailed" desc:"exit code of plan when there are changes: 0, or 6 with detailed"`
}

// The phases of a state. Whatever is not one of the others is steady.
const (
	cold      = "cold"
	bootstrap = "bootstrap"
)

func (k Keys) steady() bool { return k.Phase != cold && k.Phase != bootstrap }

// Deployment is what one state describes.
type Deployment struct {
	// Name is who takes the lock: the same in every run over this state.
	Name string
	// Files are the configuration, by their names: without a backend block.
	Files map[string][]byte
	// Providers are those that this process serves, by their source address.
	Providers map[string]tfexec.ReattachConfig
	// Vars become TF_VAR_…, and are in no command line, plan or log.
	Vars map[string]env.Secret
	// Env is what OpenTofu and its providers get beyond the fixed variables.
	Env map[string]string
	// Mirror is a folder with providers in the layout of a filesystem mirror
	// (OpenTofu documentation, "Provider Installation"); the others come from it and
	// from nowhere else. Empty means the registry.
	Mirror string
	// Keeps says that some resources are forgotten where they would be removed
	// (lifecycle.destroy), which OpenTofu takes for a fault of a destroy.
	Keeps bool
	// Stays tells of an object that no apply may make anew because what it is
	// declared to be has changed, since what it holds would be lost.
	Stays func(kind string) bool
	// Declared is what Files declare. What a state holds beyond it is neither removed
	// nor forgotten unless the keys name it. Nil leaves that to OpenTofu.
	Declared *Declared
	// Core is the address of the object that makes a state this deployment's, whose id
	// is Name. A state with another of its type is another's. It goes with Declared.
	Core string
	// Reach asks the servers that the providers speak with whether they are there, once
	// OpenTofu has failed: its errors are of the providers' own words. Nil asks none.
	Reach func(ctx context.Context) error
	// Adopts tells whether making an object again takes over the one that is
	// there: its provider finds it by a name that follows from the address.
	Adopts func(o ledger.Object) bool
}

// Engine runs verbs. The zero Place is this host; StopLimit bounds how long
// OpenTofu may take to stop.
type Engine struct {
	Tofu        *binary.Tofu
	Environment env.Environment
	Log         *report.Log
	Backend     backend.Keys
	Keys        Keys
	Place       lock.Place
	StopLimit   time.Duration
	// Found is told of the state that a verb reads which only tells; it may be nil.
	Found func(lineage string, serial uint64)

	pace backend.Pace // zero is backend.Patient
}

// Result is what a run did, and where the state is now.
type Result struct {
	Plan    Plan
	Lineage string
	Serial  uint64
	Outputs map[string]state.Output
	Objects []string // addresses of all that is in the state
}

// stopLimit is how long OpenTofu may take to stop by itself: the step that a
// provider is at ends first. dyingLimit is the same when nobody is left to ask.
const (
	stopLimit  = 10 * time.Minute
	dyingLimit = 4 * time.Minute
)
