package env

import (
	"errors"
	"net/netip"
	"net/url"
	"regexp"
	"strings"

	"fediversity.eu/slipway/internal/idn"
)

// Host names a machine on a network: a host name or an IP address. An IPv6
// address stands without brackets, with its zone if it has one.
type Host string

var (
	// hostLabel is RFC 1123's, and the underscore that container names have.
	hostLabel = regexp.MustCompile(`^[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?$`)
	allDigits = regexp.MustCompile(`^[0-9]+$`)
	zone      = regexp.MustCompile(`^[A-Za-z0-9_.-]*$`)
)

// EnvDecode takes a host name, an IPv4 address, or an IPv6 address with or without
// brackets and zone.
func (h *Host) EnvDecode(value string) error {
	bare, open := strings.CutPrefix(value, "[")
	bare, closed := strings.CutSuffix(bare, "]")
	if address, err := netip.ParseAddr(bare); err == nil {
		switch {
		case open != closed || open && address.Is4():
			return errors.New("has a bracket too many or too few")
		case !zone.MatchString(address.Zone()):
			return errors.New("has a zone that no interface is called")
		}
		*h = Host(bare)
		return nil
	}
	if err := hostName(value); err != nil {
		return err
	}
	*h = Host(value)
	return nil
}

var errNoName = errors.New("is neither a host name nor an address")

// hostName says what is wrong with a host name, which may end in a dot.
func hostName(value string) error {
	switch {
	case strings.Contains(value, "@"):
		return errors.New("holds a user, who does not belong to the host")
	case strings.Contains(value, ":"):
		return errors.New("holds a colon but is no IPv6 address; a port does not belong to the host")
	case len(value) > 253:
		return errors.New("is longer than a host name")
	case !idn.IsASCII(value):
		if plain, err := idn.ASCII(value); err == nil && hostName(plain) == nil {
			return errors.New("has letters that are not of ASCII; write it as DNS has it: " + plain)
		}
	}
	labels := strings.Split(strings.TrimSuffix(value, "."), ".")
	for _, label := range labels {
		if !hostLabel.MatchString(label) {
			return errNoName
		}
	}
	if allDigits.MatchString(labels[len(labels)-1]) {
		return errors.New("is not an IPv4 address, and no host name ends in a number")
	}
	return nil
}

// Valid says what EnvDecode accepts.
func (h *Host) Valid() string { return "host name, IPv4 or IPv6 address" }

// Domain is the name of a domain, without a dot at its end.
type Domain string

// EnvDecode takes a name with a dot at its end or none.
func (d *Domain) EnvDecode(value string) error {
	if _, err := netip.ParseAddr(strings.Trim(value, "[]")); err == nil {
		return errors.New("is an address, and no domain")
	}
	*d = Domain(strings.TrimSuffix(value, "."))
	err := hostName(value)
	if errors.Is(err, errNoName) {
		return errors.New("is not the name of a domain")
	}
	return err
}

// Valid says what EnvDecode accepts.
func (d *Domain) Valid() string { return "name of a domain" }

// URL is the address of an HTTP service, without user and password: these are
// keys of their own, or they would be shown with the address.
type URL string

// EnvDecode takes an absolute address.
func (u *URL) EnvDecode(value string) error {
	if err := oneLine(value); err != nil {
		return err
	}
	parsed, err := url.Parse(value)
	switch {
	case err != nil:
		// The cause would repeat the value.
		return errors.New("is not an address")
	case parsed.Scheme != "http" && parsed.Scheme != "https":
		return errors.New("starts with neither http:// nor https://")
	case parsed.User != nil:
		return errors.New("holds a user or password, which the address must not")
	case parsed.Hostname() == "":
		return errors.New("names no host")
	}
	*u = URL(value)
	return nil
}

// Valid says what EnvDecode accepts.
func (u *URL) Valid() string { return "http or https address without user and password" }
