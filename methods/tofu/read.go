package tofu

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"
	tfjson "github.com/hashicorp/terraform-json"

	"fediversity.eu/slipway/methods/tofu/backend"
	"fediversity.eu/slipway/methods/tofu/broker"
	"fediversity.eu/slipway/methods/tofu/rundir"
	"fediversity.eu/slipway/methods/tofu/state"
	"fediversity.eu/slipway/targets/report"
)

// reading is the way of every verb that changes nothing: no lock, one GET, a
// folder of its own that goes with it, and a broker that takes nothing.
func (e *Engine) reading(ctx context.Context, d Deployment, verb string, work func(context.Context, *workshop) error) error {
	s, err := e.readable(ctx, d, verb)
	if err != nil {
		return err
	}
	if e.Found != nil {
		e.Found(s.Lineage, s.Serial)
	}
	return e.over(ctx, d, s, nil, work)
}

// over gives work a folder and a state, whose versions are take's; without it there
// are none.
func (e *Engine) over(ctx context.Context, d Deployment, s *state.State, take broker.Taker, work func(context.Context, *workshop) error) error {
	b, err := broker.Open(s, take, e.Log.In("backend").Infof)
	if err != nil {
		return err
	}
	defer b.Close()
	return e.private(ctx, d, b, work)
}

// readable is the state, if it may be read: nothing newer lies in the run
// directory, and it is the one expected.
func (e *Engine) readable(ctx context.Context, d Deployment, verb string) (*state.State, error) {
	e.note()
	path, _, err := e.dir()
	if err != nil {
		return nil, err
	}
	kept, err := rundir.Peek(path)
	if err != nil {
		return nil, err
	}
	if kept != "" {
		return nil, report.Refuse("use the state", fmt.Errorf("a run was cut off: %s holds %s", path, kept),
			"apply, destroy, refresh or import recovers it")
	}
	client, err := e.client()
	if err != nil {
		return nil, err
	}
	defer client.Close()
	f, err := e.look(ctx, d, client)
	if verb == PlanVerb && e.Keys.Phase == bootstrap && backend.Unreached(err) && ctx.Err() == nil {
		e.Log.Infof("the state backend is not there yet: this is the plan of its first state")
		return e.imagined(ctx, d)
	}
	if err != nil {
		return nil, err
	}
	if verb == PlanVerb && !e.Keys.steady() {
		switch {
		case f.kind == state.Absent:
			return e.imagined(ctx, d)
		case f.kind == state.Begun && f.state.Marker.Settled:
			return unmarked(f.state) // apply would go on from it too
		}
	}
	return f.state, e.Keys.check(f, verb)
}

// imagined is the first state of a cold start, as a plan sees it.
func (e *Engine) imagined(ctx context.Context, d Deployment) (*state.State, error) {
	raw, err := state.Seed(uuid.NewString(), e.Tofu.Version, &state.Marker{Run: "plan"})
	if err == nil && e.Keys.Encryption.IsSet() {
		return e.seal(ctx, d, raw)
	}
	if err == nil {
		raw, err = state.Unmarked(raw)
	}
	if err != nil {
		return nil, err
	}
	return state.Parse(raw)
}

// Plan says what Apply would do, and changes nothing: no object, no state, no
// lock.
func (e *Engine) Plan(ctx context.Context, d Deployment) (*Result, error) {
	s, err := e.readable(ctx, d, PlanVerb)
	if err != nil {
		return nil, err
	}
	letGo, err := e.undeclared(d, s, PlanVerb)
	if err == nil {
		d, err = letGo.with(d)
	}
	if err != nil {
		return nil, err
	}
	var take broker.Taker
	if len(letGo.forget) > 0 {
		take = func(context.Context, *state.State) error { return nil } // it ends with the plan
	}
	var p Plan
	err = e.over(ctx, d, s, take, func(ctx context.Context, w *workshop) error {
		if err := w.init(ctx, true); err != nil {
			return err
		}
		if err := w.forget(ctx, letGo); err != nil {
			return err
		}
		var err error
		if p, err = w.plan(ctx); err != nil {
			return err
		}
		return w.run(ctx, "show the plan", func(ctx context.Context) error {
			var err error
			p.Text, err = w.tf.ShowPlanFileRaw(ctx, w.planFile())
			return err
		}, nil)
	})
	p.forgets(letGo)
	if err != nil {
		return nil, err
	}
	return &Result{Plan: p, Lineage: s.Lineage, Serial: s.Serial, Outputs: s.Outputs, Objects: s.Objects()}, nil
}

// Output gives the outputs of the state.
func (e *Engine) Output(ctx context.Context, d Deployment) (map[string]state.Output, error) {
	all := map[string]state.Output{}
	err := e.reading(ctx, d, Output, func(ctx context.Context, w *workshop) error {
		if err := w.init(ctx, true); err != nil {
			return err
		}
		return w.run(ctx, "output", func(ctx context.Context) error {
			found, err := w.tf.Output(ctx)
			for name, o := range found {
				all[name] = state.Output{Value: o.Value, Type: o.Type, Sensitive: o.Sensitive}
			}
			return err
		}, nil)
	})
	return all, err
}

// Show gives the state with all its values, child modules included.
func (e *Engine) Show(ctx context.Context, d Deployment) (*tfjson.State, error) {
	var shown *tfjson.State
	err := e.reading(ctx, d, Show, func(ctx context.Context, w *workshop) error {
		if err := w.init(ctx, true); err != nil {
			return err
		}
		return w.run(ctx, "show", func(ctx context.Context) error {
			var err error
			shown, err = w.tf.Show(ctx)
			return err
		}, nil)
	})
	return shown, err
}

// StateList gives the addresses of all that is in the state.
func (e *Engine) StateList(ctx context.Context, d Deployment) ([]string, error) {
	var list []string
	err := e.reading(ctx, d, StateList, func(ctx context.Context, w *workshop) error {
		if err := w.init(ctx, true); err != nil {
			return err
		}
		out, err := w.output(ctx, "state", "list")
		list = strings.FieldsFunc(string(out), func(r rune) bool { return r == '\n' })
		return err
	})
	return list, err
}

// StateShow gives one object of the state, as OpenTofu writes it for people.
func (e *Engine) StateShow(ctx context.Context, d Deployment, address string) (string, error) {
	if err := Operand("ADDRESS", address); err != nil {
		return "", err
	}
	var text string
	err := e.reading(ctx, d, StateShow, func(ctx context.Context, w *workshop) error {
		if err := w.init(ctx, true); err != nil {
			return err
		}
		out, err := w.output(ctx, "state", "show", "-no-color", address)
		text = string(out)
		if err != nil && ctx.Err() == nil {
			return report.Fail("show "+address, err, "state-list prints the addresses of all that is in the state")
		}
		return err
	})
	return text, err
}

// Operand refuses what a command would take for an option. name is that of its key.
// The error has exit code 2.
func Operand(name, value string) error {
	if value == "" || strings.HasPrefix(value, "-") {
		return &report.Fault{Code: report.Usage, What: "read " + name, Why: fmt.Errorf("%q is none", value), Hint: "give it as OpenTofu writes it"}
	}
	return nil
}

// Validate holds the configuration to be one. It needs no backend.
func (e *Engine) Validate(ctx context.Context, d Deployment) error {
	return e.private(ctx, d, nil, func(ctx context.Context, w *workshop) error {
		if err := w.init(ctx, false); err != nil {
			return err
		}
		var faults []error
		err := w.run(ctx, "validate", func(ctx context.Context) error {
			found, err := w.tf.Validate(ctx)
			if found == nil {
				return err
			}
			for _, d := range found.Diagnostics {
				text, _ := json.Marshal(d)
				var own diagnostic
				_ = json.Unmarshal(text, &own)
				if d.Severity == tfjson.DiagnosticSeverityError {
					faults = append(faults, errors.New(own.String()))
				} else {
					w.log.Warnf("%s", &own)
				}
			}
			return nil
		}, nil)
		if len(faults) > 0 {
			return report.Fail("validate", errors.Join(faults...), "")
		}
		return err
	})
}
