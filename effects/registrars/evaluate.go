package registrars

import (
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"fediversity.eu/slipway/effects/registrars/delegation"
	"fediversity.eu/slipway/effects/registrars/dnssec"
	"fediversity.eu/slipway/groups"
	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/report"
)

// evaluation makes delegations of what a group declares and of coordinates.
type evaluation struct {
	group     groups.Group
	declared  bool // only what is declared is there: there are no coordinates
	domain    DomainKeys
	registrar RegistrarKeys
	servers   ServerKeys
	anchors   AnchorKeys
}

func newEvaluation(group groups.Group) *evaluation { return &evaluation{group: group} }

// wanted is one delegation as it is to be.
type wanted struct {
	delegation.Delegation // keys where they are known, digests where they are not
	registrar             registrar
	doubts                []string
}

// stated is what the registrar is to hold: keys or digests, whichever it takes.
func (w wanted) stated() delegation.Delegation {
	d := w.Delegation
	if !w.registrar.digests {
		d.DS = nil
		return d
	}
	if len(d.Keys) > 0 {
		d.DS = nil
		for _, k := range d.Keys {
			d.DS = append(d.DS, k.DS(d.Domain))
		}
		d.Keys = nil
	}
	return d
}

// bare tells whether a delegation says nothing of keys.
func bare(d groups.Delegation) bool { return !d.Unsigned && len(d.DNSKEY)+len(d.DS) == 0 }

func (e *evaluation) some(is func(groups.Delegation) bool) bool {
	return slices.ContainsFunc(e.group.Delegations, is)
}

// coordinates are the structs of what the group leaves open.
func (e *evaluation) coordinates() []any {
	var structs []any
	if e.some(func(d groups.Delegation) bool { return d.Domain == "" }) {
		structs = append(structs, &e.domain)
	}
	if e.some(func(d groups.Delegation) bool { return d.Registrar == "" }) {
		structs = append(structs, &e.registrar)
	}
	if e.some(func(d groups.Delegation) bool { return len(d.NameServers) == 0 }) {
		structs = append(structs, &e.servers)
	}
	if e.some(bare) {
		structs = append(structs, &e.anchors)
	}
	return structs
}

// evaluate gives the delegations as they are to be. The error, for exit code 2,
// names every fault of all of them.
func (e *evaluation) evaluate() ([]wanted, error) {
	var list []wanted
	var faults []error
	for _, declared := range e.group.Delegations {
		w, found := e.one(declared)
		for _, fault := range found {
			faults = append(faults, fmt.Errorf("%s: %w", w.Domain, fault))
		}
		if slices.ContainsFunc(list, func(other wanted) bool { return other.Domain == w.Domain }) {
			faults = append(faults, fmt.Errorf("%s: delegated twice", w.Domain))
		}
		list = append(list, w)
	}
	open := 0
	for _, declared := range e.group.Delegations {
		if bare(declared) {
			open++
		}
	}
	if open > 1 {
		faults = append(faults, fmt.Errorf("%d domains of %s have no keys; DELEGATION_DNSKEY and DELEGATION_DS serve one", open, e.group.Name))
	}
	if len(faults) > 0 {
		return nil, &report.Fault{
			Code: report.Usage, What: "evaluate the delegation", Why: errors.Join(faults...),
			Hint: "validate shows what is declared, and asks nobody",
		}
	}
	return list, nil
}

// one evaluates one delegation, as far as it goes.
func (e *evaluation) one(declared groups.Delegation) (wanted, []error) {
	w := wanted{}
	var faults []error
	blame := func(err error) {
		if err != nil {
			faults = append(faults, err)
		}
	}
	w.Domain = delegation.Name(declared.Domain)
	if w.Domain == "" {
		w.Domain = delegation.Name(string(e.domain.Domain))
	}
	if w.Domain == "" && e.declared {
		w.Domain = "example.org" // any will do for what does not depend on it
	}
	blame(checkDomain(w.Domain))
	name := declared.Registrar
	if name == "" {
		name = string(e.registrar.Registrar)
	}
	var ok bool
	if w.registrar, ok = find(name); !ok && (name != "" || !e.declared) {
		blame(unknown(name, w.Domain))
	}
	faults = append(faults, e.hosts(&w, declared)...)
	faults = append(faults, e.keys(&w, declared)...)
	return w, faults
}

var label = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)

// checkName says what is wrong with a host name (RFC 1123 section 2.1).
func checkName(name string) error {
	if len(name) > 253 {
		return fmt.Errorf("%q is longer than a name may be", name)
	}
	for part := range strings.SplitSeq(name, ".") {
		if !label.MatchString(part) {
			return fmt.Errorf("%q is no host name: letters, digits and hyphens between dots; of an international name, its xn-- form", name)
		}
	}
	return nil
}

func checkDomain(name string) error {
	if err := checkName(name); err != nil {
		return err
	}
	if _, err := netip.ParseAddr(name); err == nil || !strings.Contains(name, ".") {
		return fmt.Errorf("%q is no domain that a registrar could delegate", name)
	}
	return nil
}

// unset tells whether no line says anything but that there are no keys.
func unset(lines env.Lines) bool { return len(lines) == 1 && strings.EqualFold(lines[0], "none") }

// keys reads the keys and digests of a delegation.
func (e *evaluation) keys(w *wanted, declared groups.Delegation) []error {
	keys, digests, unsigned := declared.DNSKEY, declared.DS, declared.Unsigned
	if e.declared && (bare(declared) || declared.Domain == "") {
		return nil // a digest is of one domain
	}
	if bare(declared) {
		keys, digests, unsigned = e.anchors.DNSKEY, e.anchors.DS, unset(e.anchors.DNSKEY)
		if unsigned {
			keys = nil
		}
	}
	var faults []error
	for i, text := range keys {
		k, err := dnssec.ParseKey(w.Domain, text)
		if err == nil && w.registrar.entryPoints && k.Flags != dnssec.EntryPoint {
			err = fmt.Errorf("flags are %d, and %s takes only keys with %d", k.Flags, w.registrar.name, dnssec.EntryPoint)
		}
		if err != nil {
			faults = append(faults, fmt.Errorf("DNSKEY %d: %w", i+1, err))
			continue
		}
		if slices.ContainsFunc(w.Keys, k.Equal) {
			continue
		}
		w.Keys = append(w.Keys, k)
		if doubt := k.Doubt(); doubt != "" {
			w.doubts = append(w.doubts, w.Domain+": "+doubt)
		}
	}
	for i, text := range digests {
		ds, err := dnssec.ParseDS(w.Domain, text)
		if err != nil {
			faults = append(faults, fmt.Errorf("DS %d: %w", i+1, err))
			continue
		}
		if !slices.ContainsFunc(w.DS, ds.Equal) {
			w.DS = append(w.DS, ds)
		}
	}
	if len(faults) == 0 {
		faults = checkAnchors(*w, unsigned)
	}
	return faults
}

// checkAnchors looks at keys and digests together.
func checkAnchors(w wanted, unsigned bool) []error {
	var faults []error
	blame := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	switch r := w.registrar; {
	case unsigned && w.Signed():
		blame("it is said to be unsigned, and has a DNSKEY or DS all the same")
	case !unsigned && !w.Signed():
		blame("neither a DNSKEY nor a DS is given; of a domain that is not signed, say so: DELEGATION_DNSKEY=none, or Unsigned where it is declared")
	case len(w.Keys) == 0 && len(w.DS) > 0 && r.name != "" && !r.digests:
		blame("a DS alone is given, and %s takes the DNSKEY: give that, the DS is derived from it", r.name)
	case r.most > 0 && max(len(w.Keys), len(w.DS)) > r.most:
		blame("%d keys are given, and %s takes %d", max(len(w.Keys), len(w.DS)), r.name, r.most)
	}
	if len(w.Keys) == 0 {
		return faults
	}
	for _, ds := range w.DS {
		if !slices.ContainsFunc(w.Keys, func(k dnssec.Key) bool { return ds.Of(w.Domain, k) }) {
			blame("DS %d is of none of the keys that are given (their tags: %s)", ds.Tag, tags(w.Keys))
		}
	}
	return faults
}

func tags(keys []dnssec.Key) string {
	var list []string
	for _, k := range keys {
		list = append(list, fmt.Sprint(k.Tag()))
	}
	return strings.Join(list, ", ")
}
