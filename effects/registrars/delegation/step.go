package delegation

import (
	"slices"
)

// Kind says what a step does. Their order is the order of the steps: what a name
// server needs comes before it, what a resolver checks it by after it, and on the
// way back the other way round.
type Kind int

// The kinds of steps.
const (
	SetHost    Kind = iota // give a name addresses at the registry
	Unsign                 // take out all keys, before name servers go that may be signed
	SetServers             // replace the set of name servers
	SetKeys                // replace the set of keys
	RemoveHost             // take a name out of the registry
)

// Kinds lists the kinds in their order.
func Kinds() []Kind { return []Kind{SetHost, Unsign, SetServers, SetKeys, RemoveHost} }

// String says what a step of the kind does.
func (k Kind) String() string {
	return [...]string{"set addresses", "take the keys out", "set the name servers", "set the keys", "remove addresses"}[k]
}

// Step is one change at a registrar.
type Step struct {
	Kind  Kind
	Host  Host     // of SetHost and RemoveHost
	Known bool     // the registry has the host already
	Lines []string // for a person: "+ server ns1.example.org"
}

// Steps lists what makes have into want, in order. It is empty where they agree.
// want gives keys or digests, whichever the registrar takes.
func Steps(have, want Delegation) []Step {
	want.Joint = have.Joint
	var steps []Step
	if !have.Joint {
		steps = setHosts(have, want)
	}
	anchors := differ("", have.Anchors(), want.Anchors())
	if len(anchors) > 0 && !want.Signed() {
		steps = append(steps, Step{Kind: Unsign, Lines: anchors})
	}
	servers := differ("server ", servers(have), servers(want))
	if len(servers) > 0 {
		steps = append(steps, Step{Kind: SetServers, Lines: servers})
	}
	if len(anchors) > 0 && want.Signed() {
		steps = append(steps, Step{Kind: SetKeys, Lines: anchors})
	}
	if have.Joint {
		return steps
	}
	for _, host := range have.Hosts {
		if _, ok := want.Host(host.Name); !ok {
			steps = append(steps, Step{Kind: RemoveHost, Host: host, Known: true, Lines: []string{"- host " + host.String()}})
		}
	}
	return steps
}

func setHosts(have, want Delegation) []Step {
	var steps []Step
	for _, host := range want.Hosts {
		before, known := have.Host(host.Name)
		if known && before.String() == host.String() {
			continue
		}
		step := Step{Kind: SetHost, Host: host, Known: known, Lines: []string{"+ host " + host.String()}}
		if known {
			step.Lines = append([]string{"- host " + before.String()}, step.Lines...)
		}
		steps = append(steps, step)
	}
	return steps
}

// servers writes the name servers of a domain, with their addresses where these are
// part of them.
func servers(d Delegation) []string {
	lines := slices.Clone(d.Servers)
	for i, name := range lines {
		if host, ok := d.Host(name); ok && d.Joint {
			lines[i] = host.String()
		}
	}
	return set(lines)
}

// differ lists what goes and what comes.
func differ(what string, have, want []string) []string {
	var lines []string
	for _, line := range have {
		if !slices.Contains(want, line) {
			lines = append(lines, "- "+what+line)
		}
	}
	for _, line := range want {
		if !slices.Contains(have, line) {
			lines = append(lines, "+ "+what+line)
		}
	}
	return lines
}
