package registrars

import (
	"net"
	"time"

	"fediversity.eu/slipway/effects/registrars/authority"
	"fediversity.eu/slipway/targets/env"
)

// DomainKeys are the coordinates of a delegation that names no domain.
type DomainKeys struct {
	Domain env.Domain `env:"DNS_DOMAIN,required" desc:"domain that the machines of the group live under"`
}

// RegistrarKeys are the coordinates of a delegation that names no registrar.
type RegistrarKeys struct {
	Registrar Registrar `env:"REGISTRAR,required" desc:"registrar of the domain"`
}

// ServerKeys are the coordinates of a delegation that names no name servers.
type ServerKeys struct {
	Servers env.Lines `env:"DELEGATION_NAME_SERVERS,required" desc:"name servers of the domain, one a line; one whose name is below the domain with its addresses after it, as ns1.example.org 192.0.2.1 2001:db8::1"`
}

// AnchorKeys are the coordinates of a delegation that says nothing of keys.
type AnchorKeys struct {
	DNSKEY env.Lines `env:"DELEGATION_DNSKEY" desc:"DNSKEY records that the domain is signed with, one a line, as 257 3 13 … or as whole records; none means that it is not signed"`
	DS     env.Lines `env:"DELEGATION_DS" desc:"DS records of the domain, one a line, where the registrar takes those and the DNSKEY is not known"`
}

// AccountKeys are the coordinates of every account.
type AccountKeys struct {
	Limit env.Duration `env:"REGISTRAR_TIMEOUT,default=3m" desc:"how long a registrar may take for a call, and then to show what it took"`
}

// AskKeys are the coordinates of asking name servers.
type AskKeys struct {
	Resolver env.Host `env:"DELEGATION_RESOLVER" desc:"address of a resolver that finds name servers, instead of those of this system"`
	Port     env.Port `env:"DELEGATION_PORT,default=53" desc:"port that the name servers are asked on; another than 53 is for trying things out"`
}

// ParentKeys are the further coordinates of a look at the parent zone.
type ParentKeys struct {
	Parent env.Names    `env:"DELEGATION_PARENT" desc:"servers of the parent zone, by name or address, separated by commas; by default they are found by a resolver"`
	Limit  env.Duration `env:"DELEGATION_TIMEOUT,default=10m" desc:"how long the servers of the parent zone and of the domain may take to agree"`
}

// asker makes what asks name servers.
func (k AskKeys) asker() authority.Asker {
	a := authority.Asker{Port: int(k.Port)}
	if k.Resolver != "" {
		a.Resolver = net.JoinHostPort(string(k.Resolver), "53")
	}
	return a
}

// The pauses between two looks at what is expected to change.
const (
	accountPause = time.Second
	serverPause  = 3 * time.Second
)
