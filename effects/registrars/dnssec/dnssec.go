// Package dnssec knows the records by which a parent zone vouches for the keys of
// its child, DNSKEY (RFC 4034 section 2) and DS (section 5), and which of them are
// fit for a registrar. The wire format and the digests are package dns's; what is
// valid is decided here, for that package takes almost anything.
package dnssec

import (
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// rdata gives the fields of a record's data. text is a whole record of a zone
// file, with parentheses and comments where it has any, or its data alone. A
// record must be of the type and of the owner, which has no dot at its end.
func rdata(text, kind, owner string) ([]string, error) {
	var fields []string
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, ";")
		fields = append(fields, strings.Fields(strings.NewReplacer("(", " ", ")", " ").Replace(line))...)
	}
	if len(fields) > 1 && digits(fields[0]) && digits(fields[1]) {
		return fields, nil // no record starts with two numbers
	}
	at := slices.IndexFunc(fields[:min(len(fields), 4)], func(field string) bool { return strings.EqualFold(field, kind) })
	if at < 0 {
		return nil, fmt.Errorf("is no %s record, and not the data of one", kind)
	}
	for i, field := range fields[:at] {
		switch {
		case digits(field), strings.EqualFold(field, "IN"):
		case i > 0:
			return nil, fmt.Errorf("has %q before its type, which is neither a time to live nor the class IN", field)
		case field != "@" && !strings.EqualFold(strings.TrimSuffix(field, "."), owner):
			return nil, fmt.Errorf("is of %s, not of %s", field, owner)
		}
	}
	return fields[at+1:], nil
}

func digits(text string) bool { return text != "" && strings.Trim(text, "0123456789") == "" }

// number reads a decimal number of a field called name.
func number(name, text string, most uint64) (uint64, error) {
	n, err := strconv.ParseUint(text, 10, 32)
	if !digits(text) || err != nil || n > most {
		return 0, fmt.Errorf("%s %q is no number from 0 to %d", name, text, most)
	}
	return n, nil
}

// decode reads base64 as RFC 4648 section 4 has it: with padding, and with no bits
// left over.
func decode(text string) ([]byte, error) {
	public, err := base64.StdEncoding.Strict().DecodeString(text)
	switch {
	case strings.ContainsAny(text, "\r\n"):
		// The decoder would skip them.
		return nil, errors.New("the key holds a line end")
	case err != nil:
		return nil, errors.New("the key is not base64 with its padding")
	case len(public) == 0:
		return nil, errors.New("the key is empty")
	}
	return public, nil
}

// join makes one line of several faults.
func join(faults []error) error {
	var texts []string
	for _, fault := range faults {
		if fault != nil {
			texts = append(texts, fault.Error())
		}
	}
	if texts == nil {
		return nil
	}
	return errors.New(strings.Join(texts, "; "))
}
