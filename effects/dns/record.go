package dns

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	mdns "github.com/miekg/dns"

	"fediversity.eu/slipway/groups"
)

// record is all values of one type at one name.
type record struct {
	name   string // whole, in lower case, with its dot
	kind   uint16
	ttl    uint32
	values []mdns.RR
	from   string // who wants it, for messages: "machine web", "record 3"
}

// String says which record it is.
func (r record) String() string {
	return fmt.Sprintf("%s %s (%s)", r.name, mdns.TypeToString[r.kind], r.from)
}

// kinds are the types that a group may declare, with the place of the name in
// their values; -1 where they have none.
var kinds = map[string]int{
	"A": -1, "AAAA": -1, "CAA": -1, "CNAME": 0, "DS": -1, "HTTPS": 1, "MX": 1, "NS": 0,
	"PTR": 0, "SRV": 3, "SSHFP": -1, "SVCB": 1, "TLSA": -1, "TXT": -1,
}

// Bounds of the time that others may keep a record, in seconds. Below the least,
// a zone is asked for all the time; RFC 2181 has the most.
const (
	leastTTL = 30
	mostTTL  = 1<<31 - 1
)

// reader turns declared records into records of a zone.
type reader struct {
	origin string // what names are relative to
	ttl    int    // of records that name none
}

// read gives a declared record, or everything that is wrong with it.
func (o reader) read(declared groups.Record, from string) (record, error) {
	kind := strings.ToUpper(declared.Type)
	r := record{kind: mdns.StringToType[kind], ttl: uint32(leastTTL), from: from}
	var faults []error
	fault := func(err error) {
		faults = append(faults, fmt.Errorf("%s: %s %s: %w", from, cmpName(declared.Name), kind, err))
	}
	target, known := kinds[kind]
	if !known {
		fault(fmt.Errorf("the type %q is not one of %s", declared.Type, strings.Join(knownKinds(), ", ")))
		return r, errors.Join(faults...)
	}
	var err error
	if r.name, err = ownerName(declared.Name, o.origin); err != nil {
		fault(err)
	}
	ttl := declared.TTL
	if ttl == 0 {
		ttl = o.ttl
	}
	if err := checkTTL(ttl); err != nil {
		fault(err)
	} else {
		r.ttl = uint32(ttl)
	}
	if len(declared.Values) == 0 {
		fault(errors.New("has no value"))
	}
	seen := map[string]bool{}
	for _, text := range declared.Values {
		value, err := o.value(mdns.RR_Header{Name: r.name, Rrtype: r.kind, Class: mdns.ClassINET, Ttl: r.ttl}, target, text)
		if err != nil {
			fault(err)
			continue
		}
		if seen[value.String()] {
			fault(fmt.Errorf("has the value %q twice", text))
		}
		seen[value.String()] = true
		r.values = append(r.values, value)
	}
	return r, errors.Join(faults...)
}

func checkTTL(seconds int) error {
	if seconds < leastTTL || seconds > mostTTL {
		return fmt.Errorf("the TTL of %d s is not from %d to %d", seconds, leastTTL, mostTTL)
	}
	return nil
}

// value reads one value.
func (o reader) value(header mdns.RR_Header, target int, text string) (mdns.RR, error) {
	kind := mdns.TypeToString[header.Rrtype]
	if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r >= 0x7f }) {
		return nil, fmt.Errorf("the value %q has a character that is not plain ASCII", text)
	}
	switch header.Rrtype {
	case mdns.TypeTXT:
		return textValue(header, text)
	case mdns.TypeA, mdns.TypeAAAA:
		address, err := netip.ParseAddr(text)
		if err != nil || address.Zone() != "" {
			return nil, fmt.Errorf("%q is no address", text)
		}
		if address.Is4() != (header.Rrtype == mdns.TypeA) {
			return nil, fmt.Errorf("%s is of the wrong family for %s", address, kind)
		}
		return addressValue(header, address), nil
	}
	fields := strings.Fields(text)
	if target >= 0 {
		if len(fields) <= target {
			return nil, fmt.Errorf("the value %q has no name in it", text)
		}
		name, err := targetName(fields[target], o.origin)
		if err != nil {
			return nil, err
		}
		fields[target] = name
		text = strings.Join(fields, " ")
	}
	if comment := strings.IndexAny(unquoted(text), ";()\\"); comment >= 0 {
		return nil, fmt.Errorf("the value %q has a %q outside quotes", text, unquoted(text)[comment])
	}
	// The owner does not matter here, and need not be right.
	value, err := mdns.NewRR(fmt.Sprintf(". %d IN %s %s", header.Ttl, kind, text))
	if err != nil || value == nil {
		return nil, fmt.Errorf("%q is no value of %s: %w", text, kind, parseCause(err))
	}
	*value.Header() = header
	return value, checkValue(value)
}

// parseCause takes the position off an error of the parser, which is in a line
// that nobody wrote.
func parseCause(err error) error {
	parse, ok := errors.AsType[*mdns.ParseError](err)
	if !ok {
		return errors.New("it is empty")
	}
	text, _, _ := strings.Cut(strings.TrimPrefix(parse.Error(), "dns: "), ": \"")
	return errors.New(text)
}

// unquoted blanks what is between quotes.
func unquoted(text string) string {
	inside := false
	return strings.Map(func(r rune) rune {
		if r == '"' {
			inside = !inside
		} else if inside {
			return ' '
		}
		return r
	}, text)
}

func addressValue(header mdns.RR_Header, address netip.Addr) mdns.RR {
	if address.Is4() {
		header.Rrtype = mdns.TypeA
		return &mdns.A{Hdr: header, A: address.AsSlice()}
	}
	header.Rrtype = mdns.TypeAAAA
	return &mdns.AAAA{Hdr: header, AAAA: address.AsSlice()}
}

// longestText is how many bytes of text a TXT may have. What is published in TXT
// is far shorter, and a query that gets more than a packet goes on over TCP.
const longestText = 4096

// textValue makes the strings of a TXT. Quotes and backslashes are refused:
// servers disagree about them, and one of them would differ in every run.
func textValue(header mdns.RR_Header, text string) (mdns.RR, error) {
	switch {
	case strings.ContainsAny(text, `"\`):
		return nil, fmt.Errorf("the text %q has a quote or a backslash, which servers read differently", text)
	case text == "" || strings.TrimSpace(text) != text:
		return nil, fmt.Errorf("the text %q is empty or has blanks around it", text)
	case len(text) > longestText:
		return nil, fmt.Errorf("a text of %d bytes is longer than the %d of a TXT", len(text), longestText)
	}
	txt := &mdns.TXT{Hdr: header}
	for chunk := range slices.Chunk([]byte(text), 255) {
		txt.Txt = append(txt.Txt, string(chunk))
	}
	return txt, nil
}

func knownKinds() []string {
	var names []string
	for name := range kinds {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// cmpName is a record's name as messages have it.
func cmpName(name string) string {
	if name == "" {
		return "@"
	}
	return name
}
