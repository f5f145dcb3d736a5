package tf

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"

	"fediversity.eu/slipway/methods/statebackend"
	"fediversity.eu/slipway/methods/tofu"
	"fediversity.eu/slipway/methods/tofu/backend"
	"fediversity.eu/slipway/methods/tofu/lock"
	"fediversity.eu/slipway/methods/tofu/state"
	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/report"
	"fediversity.eu/slipway/targets/task"
)

// states is the state backend of a machine that Slipway boots: it is there for as
// long as a run, on the loopback, and keeps its files in the cache.
type states struct {
	dir    string
	name   string
	store  *statebackend.Store
	server *statebackend.Server
	secret env.Secret
	stop   context.CancelFunc
	ended  chan error
}

// user is whom the backend lets in, with a password that is made for each run.
const user = "slipway"

// embed serves the state of a deployment.
func embed(ctx context.Context, run *task.Run, name string) (*states, error) {
	cache, err := run.Environment.CacheDir()
	if err != nil {
		return nil, &report.Fault{Code: report.Usage, What: "read the coordinates", Why: err}
	}
	s := &states{dir: filepath.Join(cache, "state", name), name: name, secret: env.NewSecret(rand.Text()), ended: make(chan error, 1)}
	s.store, err = statebackend.Open(filepath.Join(s.dir, "backend"), statebackend.Options{})
	if errors.Is(err, statebackend.ErrServed) {
		return nil, &report.Fault{Code: report.Busy, What: "use the state", Why: err, Hint: "another run of this deployment is under way: try again when it has ended"}
	}
	if err != nil {
		return nil, report.Fail("keep the state", err, "the state of a local machine is kept in CACHE_DIR")
	}
	// It ends after the run, which writes the state also when it is stopped.
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.stop = stop
	s.server, err = statebackend.Listen(serving, s.store, statebackend.Serving{Access: statebackend.Access{User: user, Password: s.secret}})
	if err != nil {
		stop()
		return nil, errors.Join(report.Fail("keep the state", err, ""), s.store.Close())
	}
	go func() { s.ended <- s.server.Serve(serving) }()
	return s, nil
}

// kind is what the state is, as a run would judge it.
func (s *states) kind() state.Kind {
	list, err := s.store.Versions(s.name)
	if err != nil {
		return state.Garbage
	}
	if len(list) == 0 || list[len(list)-1].Deleted {
		return state.Absent
	}
	text, err := os.ReadFile(list[len(list)-1].Path)
	if err != nil {
		return state.Garbage
	}
	kind, _, _ := state.Judge(true, text)
	return kind
}

// furnish makes an engine use the backend. No state is no loss here: the machine
// is found by its name.
func (s *states) furnish(e *tofu.Engine) {
	address := env.URL(s.server.State(s.name))
	e.Backend = backend.Keys{
		Address: address, Lock: address, Unlock: address, Username: user, Password: s.secret,
		UpdateMethod: "POST", LockMethod: "LOCK", UnlockMethod: "UNLOCK",
	}
	e.Keys.Phase = "steady"
	if kind := s.kind(); kind == state.Absent || kind == state.Begun {
		e.Keys.Phase = "cold"
	}
	if e.Keys.Takeover == "" {
		// Whoever has the store is the only run there is. A lock in it outlives a reboot.
		e.Keys.Takeover = lock.Own
	}
	if e.Keys.Dir == "" {
		// Not by the backend's address, which changes.
		e.Keys.Dir = env.Path(filepath.Join(s.dir, "run"))
	}
}

// close ends the backend.
func (s *states) close() error {
	s.stop()
	return errors.Join(<-s.ended, s.store.Close())
}
