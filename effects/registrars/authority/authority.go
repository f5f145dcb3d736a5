// Package authority asks the name servers themselves what they say about a domain:
// those of its parent zone about the delegation, and the domain's own about its
// keys. No answer and a wrong answer are different errors.
package authority

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/miekg/dns"

	"fediversity.eu/slipway/effects/registrars/delegation"
)

// Asker asks name servers.
type Asker struct {
	Port     int           // that they answer on; 0 means 53
	Resolver string        // "192.0.2.53:53"; empty means those of the system
	Patience time.Duration // how long one query may take; 0 means DefaultPatience
}

// DefaultPatience is how long one query may take.
const DefaultPatience = 4 * time.Second

// tries is how often a query is sent: one datagram may get lost.
const tries = 3

// Server is an address of a name server.
type Server struct {
	Name    string
	Address netip.Addr
}

// String names the server with its address.
func (s Server) String() string {
	if s.Name == "" {
		return s.Address.String()
	}
	return s.Name + " (" + s.Address.String() + ")"
}

// SilentError is a server that gave no answer that could be read: what it says is
// not known.
type SilentError struct {
	Server string
	Err    error
}

// Error says who gave no answer, and why.
func (e *SilentError) Error() string { return e.Server + " gives no answer: " + e.Err.Error() }

// Unwrap gives the cause.
func (e *SilentError) Unwrap() error { return e.Err }

// WrongError is a server that answered, and not what it should.
type WrongError struct {
	Server string
	What   string
}

// Error says who answers what.
func (e *WrongError) Error() string { return e.Server + " " + e.What }

// ask sends one question to a name server, and returns an answer that belongs to
// it. It sets no bit that asks for recursion.
func (a Asker) ask(ctx context.Context, server Server, name string, kind uint16) (*dns.Msg, error) {
	port := a.Port
	if port == 0 {
		port = 53
	}
	m := new(dns.Msg).SetQuestion(dns.Fqdn(name), kind)
	m.RecursionDesired = false
	m.SetEdns0(1232, true)
	answer, err := a.exchange(ctx, net.JoinHostPort(server.Address.String(), strconv.Itoa(port)), m)
	if err != nil {
		return nil, &SilentError{server.String(), err}
	}
	return answer, nil
}

// exchange sends a message over UDP, and over TCP where the answer is too long.
func (a Asker) exchange(ctx context.Context, address string, m *dns.Msg) (*dns.Msg, error) {
	patience := a.Patience
	if patience == 0 {
		patience = DefaultPatience
	}
	var last error
	for range tries {
		for _, network := range []string{"udp", "tcp"} {
			answer, err := once(ctx, network, address, m, patience)
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			if err != nil {
				last = err
				break
			}
			if !answer.Truncated {
				return answer, nil
			}
			last = errors.New("the answer is cut off, over TCP too")
		}
	}
	return nil, last
}

func once(ctx context.Context, network, address string, m *dns.Msg, patience time.Duration) (*dns.Msg, error) {
	client := &dns.Client{Net: network, Timeout: patience}
	answer, _, err := client.ExchangeContext(ctx, m, address)
	switch {
	case err != nil:
		return nil, err
	case !answer.Response || len(answer.Question) != 1 ||
		!strings.EqualFold(answer.Question[0].Name, m.Question[0].Name) || answer.Question[0].Qtype != m.Question[0].Qtype:
		return nil, errors.New("the answer is to another question")
	}
	return answer, nil
}

// names gives the name servers of a domain among records.
func names(records []dns.RR, domain string) []string {
	var list []string
	for _, record := range records {
		if ns, ok := record.(*dns.NS); ok && delegation.Name(ns.Hdr.Name) == domain {
			list = append(list, delegation.Name(ns.Ns))
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// rcode writes a response code.
func rcode(code int) string {
	if name, ok := dns.RcodeToString[code]; ok {
		return name
	}
	return fmt.Sprintf("response code %d", code)
}
