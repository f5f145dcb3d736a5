package authority

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"slices"
	"strings"

	"github.com/cloudflare/circl/sign/ed448"
	"github.com/miekg/dns"
)

// verifiedEd448 checks a signature of a set of keys by Ed448, which package dns
// can't: it is over the signature's own data without its last field, then every
// record in canonical form and order (RFC 4034 section 3.1.8.1, RFC 8080).
func verifiedEd448(signature *dns.RRSIG, key *dns.DNSKEY, set []dns.RR) bool {
	signer, err := pack(&dns.NS{
		Hdr: dns.RR_Header{Name: ".", Rrtype: dns.TypeNS, Class: dns.ClassINET}, Ns: strings.ToLower(signature.SignerName),
	})
	if err != nil {
		return false
	}
	const header = 11 // of a record of the root: its name of one byte and ten more
	var signed bytes.Buffer
	for _, field := range []any{
		signature.TypeCovered, signature.Algorithm, signature.Labels, signature.OrigTtl, signature.Expiration, signature.Inception, signature.KeyTag,
	} {
		_ = binary.Write(&signed, binary.BigEndian, field) // a buffer takes all
	}
	signed.Write(signer[header:])
	var records [][]byte
	for _, record := range set {
		record = dns.Copy(record)
		record.Header().Name, record.Header().Ttl = strings.ToLower(record.Header().Name), signature.OrigTtl
		packed, err := pack(record)
		if err != nil {
			return false
		}
		records = append(records, packed)
	}
	// The headers are alike up to the length of the data, by which the order of the
	// data goes too where one is the beginning of another.
	slices.SortFunc(records, func(a, b []byte) int {
		at := len(a) - rdlength(a)
		return bytes.Compare(a[at:], b[at:])
	})
	for _, record := range records {
		signed.Write(record)
	}
	given, err := base64.StdEncoding.DecodeString(signature.Signature)
	return err == nil && len(public(key)) == ed448.PublicKeySize && ed448.Verify(public(key), signed.Bytes(), given, "")
}

// pack writes a record without compression.
func pack(record dns.RR) ([]byte, error) {
	wire := make([]byte, dns.Len(record)+64)
	n, err := dns.PackRR(record, wire, 0, nil, false)
	return wire[:n], err
}

// rdlength is the length of the data of a record: the last two bytes of its header,
// after its name, type, class and time to live.
func rdlength(record []byte) int {
	_, at, err := dns.UnpackDomainName(record, 0)
	if err != nil {
		return 0
	}
	return int(binary.BigEndian.Uint16(record[at+8:]))
}
