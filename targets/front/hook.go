package front

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"fediversity.eu/slipway/internal/child"
	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/program"
	"fediversity.eu/slipway/targets/report"
)

// mage is what the mage command tells the magefile (mage, "Environment
// variables").
type mage struct {
	List    env.Bool     `env:"MAGEFILE_LIST" desc:"set by mage -l"`
	Help    env.Bool     `env:"MAGEFILE_HELP" desc:"set by mage -h"`
	Timeout env.Duration `env:"MAGEFILE_TIMEOUT" desc:"set by mage -t"`
}

// Hook takes a magefile's command line over when it names programs and tasks of
// ours, and ends the process with the outcome. It is called from the magefile's
// init, before Mage's own main, which would allow five seconds after SIGINT,
// ignore SIGTERM, and run the first of several programs before it looks at the
// name of the second. A command line that is all Mage's is left to Mage.
func Hook(f Front) {
	if code, ours := f.helped(os.Args); ours {
		os.Exit(int(code)) //nolint:forbidigo // instead of Mage's main
	}
	outlive()
	f.Registry = sync.OnceValues(f.Registry)
	environment := env.Process()
	var m mage
	if err := environment.Load(context.Background(), env.For{}, &m); err != nil || bool(m.List) {
		return
	}
	names := os.Args[1:]
	if c, words, ok := asCommand(names); ok {
		if bool(m.Help) || wantsHelp(words) {
			os.Exit(int(c.explain(os.Stdout, "mage"))) //nolint:forbidigo // instead of Mage's main
		}
		os.Exit(int(c.run(f, words))) //nolint:forbidigo // instead of Mage's main
	}
	if !f.ours(names) {
		return
	}
	if m.Help {
		os.Exit(int(f.help(os.Stdout, names))) //nolint:forbidigo // instead of Mage's main
	}
	ctx, cancel := context.Background(), context.CancelFunc(func() {})
	if m.Timeout > 0 {
		limit := time.Duration(m.Timeout)
		ctx, cancel = context.WithTimeoutCause(ctx, limit, fmt.Errorf("stopped by mage's time limit of %s", limit))
	}
	code := f.call(ctx, environment, f.asked(names))
	cancel()
	os.Exit(int(code)) //nolint:forbidigo // instead of Mage's main
}

// ours tells whether a command line is for us: when a word of it names a program
// or a task, or begins as only a program can.
func (f Front) ours(words []string) bool {
	registry, err := f.Registry()
	if err != nil {
		return len(words) > 0 // so that the faults of the declarations are shown
	}
	return slices.ContainsFunc(words, func(word string) bool {
		if f.isTask(word) {
			return true
		}
		for _, group := range registry.Groups() {
			space := strings.ToLower(program.Camel(group.Name)) + ":"
			if lower := strings.ToLower(word); strings.HasPrefix(lower, group.Name+"-") || strings.HasPrefix(lower, space) {
				return true
			}
		}
		return false
	})
}

// asked reads a command line once the registry is there.
func (f Front) asked(words []string) func(*program.Registry) []program.Call {
	return func(r *program.Registry) []program.Call { return r.Calls(words, f.isTask) }
}

// call runs what is asked for under signals and explains an error.
func (f Front) call(ctx context.Context, environment env.Environment, asked func(*program.Registry) []program.Call) report.Code {
	var opened atomic.Pointer[program.Session]
	ctx, stop := withSignals(ctx, func() {
		child.KillAll()
		if session := opened.Load(); session != nil {
			session.Abandon()
		}
	})
	defer stop()
	registry, session, err := f.open(ctx, environment)
	if err != nil {
		explain(plainly(), err)
		return report.CodeOf(err)
	}
	opened.Store(session)
	defer session.Close()
	err = f.run(ctx, session, asked(registry))
	if err == nil {
		return report.Healthy
	}
	explain(session.Log(), err)
	if stopped, ok := errors.AsType[*report.Interruption](context.Cause(ctx)); ok {
		return stopped.Code()
	}
	return report.CodeOf(err)
}
