package registrars

import (
	"context"
	"slices"

	"fediversity.eu/slipway/effects/registrars/authority"
	"fediversity.eu/slipway/effects/registrars/delegation"
	"fediversity.eu/slipway/targets/report"
)

// guard asks the name servers that are to be before anything is changed, and refuses
// what would take the domain off the net: name servers that do not serve it, keys
// that they do not sign with, and keys that stay behind while the zone moves.
func guard(ctx context.Context, a authority.Asker, log *report.Log, have, want delegation.Delegation) error {
	steps := delegation.Steps(have, want)
	is := func(kind delegation.Kind) bool {
		return slices.ContainsFunc(steps, func(s delegation.Step) bool { return s.Kind == kind })
	}
	// Where a name server gets another address, the zone moves as well.
	moves := is(delegation.SetServers) || slices.ContainsFunc(of(delegation.SetHost, steps), func(s delegation.Step) bool {
		return slices.Contains(want.Servers, s.Host.Name)
	})
	keys := is(delegation.SetKeys)
	if !moves && !keys {
		return nil
	}
	log.Infof("asking the name servers of %s", want.Domain)
	var f findings
	stale := false
	answers := collect(&f, children(ctx, a, want))
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	for _, s := range answers {
		anchored(&f, want, s)
		if moves && have.Signed() && !slices.ContainsFunc(s.says.Signing, have.Trusts) {
			stale = true
			f.blame(s.server, "does not sign with a key that the parent vouches for now, and the parent's DS is remembered for a while")
		}
	}
	for _, text := range f.minor {
		log.Warnf("%s", text)
	}
	fault := &report.Fault{Code: report.Refused, What: "ask the name servers of " + want.Domain, Why: f.err()}
	switch {
	case stale:
		fault.Hint = "move a signed zone together with its keys; or take the keys out first, with the name servers as they are (DELEGATION_DNSKEY=none), and wait as long as the DS may be remembered"
	case len(f.wrong) > 0:
		fault.Hint = "nothing was changed; the zone has to be served, and signed, before it is delegated"
	case len(f.unknown) > 0:
		fault.Code, fault.Hint = report.Unknown, "nothing was changed; each name server has to answer here before the domain is delegated to it"
	default:
		return nil
	}
	return fault
}
