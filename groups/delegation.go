package groups

// Delegation is what the registrar of a domain has the parent zone say about it:
// its name servers, their addresses, and the keys that sign it. What is left empty
// comes from coordinates.
type Delegation struct {
	Domain      string       `json:"domain,omitempty"`       // "example.org"; empty means the domain of the group, DNS_DOMAIN
	Registrar   string       `json:"registrar,omitempty"`    // "gandi"; empty means the one that REGISTRAR names
	NameServers []NameServer `json:"name_servers,omitempty"` // empty means those that DELEGATION_NAME_SERVERS lists
	// Hosts are names below the domain that are to have addresses at the registry
	// without being name servers of the domain: other domains use them.
	Hosts []NameServer `json:"hosts,omitempty"`
	// DNSKEY are the keys that the zone is signed with, as "257 3 13 …" or as whole
	// records; DS are their digests, "55648 13 2 …", where the keys are not known.
	DNSKEY []string `json:"dnskey,omitempty"`
	DS     []string `json:"ds,omitempty"`
	// Unsigned says that the zone is not signed, so that the parent is to hold no
	// DS. Without it, a zone without keys is a mistake.
	Unsigned bool `json:"unsigned,omitempty"`
}

// NameServer is a host that answers for domains. A name without a dot is below the
// domain: "ns1" is ns1.example.org. Addresses are those of a name below the domain,
// and of no other.
type NameServer struct {
	Name      string   `json:"name"`
	Addresses []string `json:"addresses,omitempty"`
}
