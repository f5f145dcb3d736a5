package dnssec

import (
	"fmt"
	"slices"
	"strings"
)

// The algorithms of keys (IANA, "DNS Security Algorithm Numbers") that are fit for
// use (RFC 9904, RFC 9905).
const (
	RSASHA256       = 8
	RSASHA512       = 10
	ECDSAP256SHA256 = 13
	ECDSAP384SHA384 = 14
	ED25519         = 15
	ED448           = 16
)

var algorithms = map[uint8]string{
	RSASHA256: "RSASHA256", RSASHA512: "RSASHA512",
	ECDSAP256SHA256: "ECDSAP256SHA256", ECDSAP384SHA384: "ECDSAP384SHA384",
	ED25519: "ED25519", ED448: "ED448",
}

// unfit are the algorithms that have a name and no use here.
var unfit = map[uint8]string{
	0: "DELETE, which only a CDS or CDNSKEY record has (RFC 8078)", 1: "RSAMD5, which is broken", 2: "DH, which signs nothing",
	3: "DSA, which is broken", 4: "reserved", 5: "RSASHA1, which is no longer to be used (RFC 9905)", 6: "DSA-NSEC3-SHA1, which is broken",
	7: "RSASHA1-NSEC3-SHA1, which is no longer to be used (RFC 9905)", 9: "reserved", 11: "reserved",
	12: "ECC-GOST, which is no longer to be used", 252: "INDIRECT, which is no algorithm", 253: "PRIVATEDNS, which nobody else knows",
	254: "PRIVATEOID, which nobody else knows", 255: "reserved",
}

// fit says what is wrong with an algorithm.
func fit(algorithm uint8) error {
	if _, ok := algorithms[algorithm]; ok {
		return nil
	}
	name := unfit[algorithm]
	if name == "" {
		name = "unknown"
	}
	return fmt.Errorf("algorithm %d is %s; fit are %s", algorithm, name, known())
}

// known lists the algorithms that are fit: "8 (RSASHA256), …".
func known() string {
	var list []uint8
	for n := range algorithms {
		list = append(list, n)
	}
	slices.Sort(list)
	var texts []string
	for _, n := range list {
		texts = append(texts, fmt.Sprintf("%d (%s)", n, algorithms[n]))
	}
	return strings.Join(texts, ", ")
}

// readAlgorithm reads an algorithm's number or its name.
func readAlgorithm(text string) (uint8, error) {
	for n, name := range algorithms {
		if strings.EqualFold(text, name) {
			return n, nil
		}
	}
	n, err := number("algorithm", text, 255)
	if err != nil {
		return 0, fmt.Errorf("algorithm %q is unknown; fit are %s", text, known())
	}
	return uint8(n), nil
}
