package remote

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// Hop is a host on the way to a machine.
type Hop struct {
	Host string
	Port int    // 0 means 22
	User string // empty means the target's
	// HostKeys are the keys that the host may show, a line each: the form of a
	// public key file ("ssh-ed25519 AAAA… comment"), or a line of a known_hosts
	// file, which counts where it names this host. @revoked lines are obeyed,
	// @cert-authority lines are refused.
	HostKeys []string
}

const defaultPort = 22

// ParseHop reads "[user@]host[:port]". The host is a name, an IPv4 address, or
// an IPv6 address: bare when no port follows, in brackets otherwise. A zone
// follows an IPv6 address after "%", or after "%25" as in URLs.
func ParseHop(text string) (Hop, error) {
	var h Hop
	rest := text
	if user, host, ok := cutLast(text, "@"); ok {
		if user == "" {
			return Hop{}, fmt.Errorf("host %q: no user before the @", text)
		}
		h.User, rest = user, host
	}
	host, port := rest, ""
	switch {
	case strings.HasPrefix(rest, "["):
		inner, after, ok := strings.Cut(rest[1:], "]")
		if !ok {
			return Hop{}, fmt.Errorf("host %q: bracket not closed", text)
		}
		if after != "" && !strings.HasPrefix(after, ":") {
			return Hop{}, fmt.Errorf("host %q: %q after the bracket", text, after)
		}
		host, port = "["+inner+"]", after
	case strings.Count(rest, ":") == 1:
		i := strings.IndexByte(rest, ':')
		host, port = rest[:i], rest[i:]
	}
	if port != "" {
		n, err := strconv.ParseUint(port[1:], 10, 16)
		if err != nil || n == 0 {
			return Hop{}, fmt.Errorf("host %q: port %q is no number from 1 to 65535", text, port[1:])
		}
		h.Port = int(n)
	}
	bare, err := bareHost(host)
	if err != nil {
		return Hop{}, err
	}
	h.Host = bare
	if err := checkUser(h.User); err != nil {
		return Hop{}, err
	}
	return h, nil
}

// ParseJump reads hops separated by commas, as ssh's ProxyJump does; the first
// is the one that is dialled first. An empty text is no hop.
func ParseJump(text string) ([]Hop, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	var hops []Hop
	var faults []error
	for part := range strings.SplitSeq(text, ",") {
		h, err := ParseHop(strings.TrimSpace(part))
		hops, faults = append(hops, h), append(faults, err)
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	return hops, nil
}

// Address is host:port as dialled, with brackets where they are needed.
func (h Hop) Address() string {
	port := h.Port
	if port == 0 {
		port = defaultPort
	}
	return net.JoinHostPort(h.Host, strconv.Itoa(port))
}

// bareHost takes brackets off an address, decodes the zone of a URL and refuses
// what can be no host.
func bareHost(host string) (string, error) {
	bare := host
	if inner, ok := strings.CutPrefix(host, "["); ok {
		bare = strings.TrimSuffix(inner, "]")
		if bare == inner {
			return "", fmt.Errorf("host %q: bracket not closed", host)
		}
	}
	if strings.Contains(bare, ":") {
		if address, zone, ok := strings.Cut(bare, "%25"); ok && zone != "" {
			bare = address + "%" + zone
		}
		if _, err := netip.ParseAddr(bare); err != nil {
			return "", fmt.Errorf("host %q: no IPv6 address", host)
		}
		return bare, nil
	}
	switch {
	case bare == "":
		return "", errors.New("host is empty")
	case bare != host:
		return "", fmt.Errorf("host %q: only an IPv6 address stands in brackets", host)
	case strings.HasPrefix(bare, "-"), strings.ContainsFunc(bare, notInName):
		return "", fmt.Errorf("host %q: neither a name nor an address", host)
	}
	return bare, nil
}

func notInName(r rune) bool {
	switch {
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
		return false
	}
	return r != '-' && r != '.' && r != '_'
}

func checkUser(user string) error {
	if strings.HasPrefix(user, "-") || strings.ContainsFunc(user, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return fmt.Errorf("user %q: no login name", user)
	}
	return nil
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}
