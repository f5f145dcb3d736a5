package registrars

import (
	"errors"
	"fmt"
	"strings"

	"fediversity.eu/slipway/effects/registrars/account"
)

// registrar is what the effect knows of one registrar.
type registrar struct {
	name        string
	digests     bool // it takes DS records, and else DNSKEY records
	pairs       bool // a name has one IPv4 and one IPv6 address at most
	joint       bool // addresses are part of name servers, so that no other name has any
	entryPoints bool // it takes only keys with the flags 257
	most        int  // how many keys it takes; 0 means any number
	credentials func() credentials
}

// table has every registrar, by name: it alone decides which there are, which keys
// open them, and what messages say of them.
var table = []registrar{
	{name: "gandi", credentials: opened(account.Gandi)},
	{name: "inwx", entryPoints: true, credentials: opened(account.INWX)},
	{name: "openprovider", pairs: true, credentials: opened(account.Openprovider)},
	{name: "ovh", most: 4, credentials: opened(account.OVH)},
	{name: "porkbun", digests: true, credentials: opened(account.Porkbun)},
	{name: "transip", pairs: true, joint: true, credentials: opened(account.TransIP)},
}

// credentials are the keys of an account, and the way to open it with them.
type credentials struct {
	keys any // pointer to a struct of declared keys
	held func() held
	open func(account.Options) account.Account
}

// held is what the keys of every account tell of themselves.
type held interface {
	Lacks() []string
	Check() error
	Address() string
}

// opened makes credentials of a function that opens an account with them.
func opened[K held](open func(K, account.Options) account.Account) func() credentials {
	return func() credentials {
		keys := new(K)
		return credentials{
			keys: keys,
			held: func() held { return *keys },
			open: func(options account.Options) account.Account { return open(*keys, options) },
		}
	}
}

// find looks a registrar up.
func find(name string) (registrar, bool) {
	for _, r := range table {
		if r.name == name {
			return r, true
		}
	}
	return registrar{}, false
}

// valid lists the names of all registrars.
func valid() string {
	var names []string
	for _, r := range table {
		names = append(names, r.name)
	}
	return strings.Join(names, ", ")
}

// unknown is the fault of a domain whose registrar there is not.
func unknown(name, domain string) error {
	return fmt.Errorf("unknown registrar %q for %s; valid registrars: %s", name, domain, valid())
}

// Registrar is the name of a registrar.
type Registrar string

// EnvDecode takes the name of a registrar that there is.
func (r *Registrar) EnvDecode(value string) error {
	if _, ok := find(value); !ok {
		return errors.New("is an unknown registrar")
	}
	*r = Registrar(value)
	return nil
}

// Valid lists the registrars.
func (r *Registrar) Valid() string { return "one of " + valid() }
