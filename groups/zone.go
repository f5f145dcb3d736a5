package groups

// Zone is a DNS zone that a group fills. What it holds follows from the group's
// machines and from the records declared with it; the effect dns checks and
// publishes it.
type Zone struct {
	// Name is where the zone begins: empty for the domain of the group, which the
	// coordinates give, a single word for a zone below it ("lab"), a whole name
	// ("example.net"), or the addresses of a reverse zone ("192.0.2.0/24",
	// "2001:db8::/48").
	Name    string   `json:"name,omitempty"`
	TTL     int      `json:"ttl,omitempty"` // seconds, of what names none; 0 means DefaultTTL
	Records []Record `json:"records,omitempty"`
}

// DefaultTTL is how long, in seconds, others may keep a record that says nothing
// of it.
const DefaultTTL = 3600

// Record is what a zone says about one name: all values of one type.
type Record struct {
	// Name is relative to the zone: "mail", "*.apps", "@" or empty for the zone
	// itself. With a dot at its end it is a whole name.
	Name string `json:"name,omitempty"`
	Type string `json:"type"`          // A, AAAA, CAA, CNAME, DS, HTTPS, MX, NS, PTR, SRV, SSHFP, SVCB, TLSA or TXT
	TTL  int    `json:"ttl,omitempty"` // seconds; 0 means that of the zone
	// Values are as in a zone file, "10 mail" for an MX, but for two things. A
	// name without a dot, or "@", is relative to the zone; one with dots in it is
	// a whole name and ends in a dot, so that none is ever completed by mistake.
	// And a TXT is its plain text: unquoted, and in one piece however long.
	Values []string `json:"values"`
}
