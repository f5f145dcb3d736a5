package program

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/magefile/mage/mg"

	"fediversity.eu/slipway/targets/report"
)

// member is a node within an aggregate, where other members come before it. It
// is a dependency as Mage knows it.
type member struct {
	*node
	aggregate *node
	needs     []*member
	blames    bool // it was not started because of one of its needs
}

var _ mg.Fn = (*member)(nil)

// Name is the identity by which Mage runs a dependency once.
func (m *member) Name() string { return m.program.Name }

// ID tells the dependencies of one aggregate and session from those of another:
// Mage would run each of them once in a process, whichever is asked for it.
func (m *member) ID() string { return m.session.id + " " + m.aggregate.program.Name }

// Run runs the member after what it needs, unless it was run already.
func (m *member) Run(ctx context.Context) error {
	if err := depend(ctx, m.needs); err != nil && !m.planned() {
		m.end(ctx, func(context.Context) error {
			m.blames = true
			return &notStartedError{blamed(m.needs, err)}
		})
	}
	return m.node.Run(ctx)
}

// unmet tells whether a need keeps others from starting: it did not end well. A plan
// that found changes keeps nobody from planning what comes after.
func (m *member) unmet() bool {
	return m.err != nil && (m.program.Verb != plan || report.CodeOf(m.err) != report.RebootNeeded)
}

// planned tells whether nothing but plans that found changes went wrong before.
func (m *member) planned() bool {
	wrong := slices.ContainsFunc(m.needs, func(need *member) bool { return need.err != nil })
	return wrong && !slices.ContainsFunc(m.needs, (*member).unmet)
}

// depend makes members Mage dependencies of the caller and waits for all of
// them. Mage reports a failed dependency by a panic.
func depend(ctx context.Context, members []*member) (err error) {
	if len(members) == 0 {
		return nil
	}
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("%v", v)
		}
	}()
	deps := make([]any, 0, len(members))
	for _, m := range members {
		deps = append(deps, m)
	}
	mg.CtxDeps(ctx, deps...)
	return nil
}

// blamed names which of the needs was not met; of one that was not started for want
// of another, that other.
func blamed(needs []*member, otherwise error) error {
	var names []string
	seen := map[*member]bool{}
	var look func(needs []*member)
	look = func(needs []*member) {
		for _, need := range needs {
			if !need.unmet() || seen[need] {
				continue
			}
			seen[need] = true
			if need.blames {
				look(need.needs)
				continue
			}
			names = append(names, need.program.Name+" ended "+need.outcome())
		}
	}
	look(needs)
	if len(names) == 0 {
		return otherwise
	}
	return errors.New(strings.Join(names, ", "))
}

// names are those of the programs of members.
func names(members []*member) []string {
	list := make([]string, 0, len(members))
	for _, m := range members {
		list = append(list, m.program.Name)
	}
	return list
}
