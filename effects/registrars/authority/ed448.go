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

// verifiedEd448 checks a signature of a set of keys by Ed448 (RFC 8080), which
// package dns can't.
func verifiedEd448(signature *dns.RRSIG, key *dns.DNSKEY, set []dns.RR) bool {
	signed, err := signedData(signature, set)
	given, bad := base64.StdEncoding.DecodeString(signature.Signature)
	return err == nil && bad == nil && len(public(key)) == ed448.PublicKeySize && ed448.Verify(public(key), signed, given, "")
}

// signedData is what a signature is made of: its own data without its last field,
// then every record of the set in canonical form and order (RFC 4034 sections
// 3.1.8.1 and 6).
func signedData(signature *dns.RRSIG, set []dns.RR) ([]byte, error) {
	signer, err := pack(&dns.NS{
		Hdr: dns.RR_Header{Name: ".", Rrtype: dns.TypeNS, Class: dns.ClassINET}, Ns: strings.ToLower(signature.SignerName),
	})
	if err != nil {
		return nil, err
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
			return nil, err
		}
		records = append(records, packed)
	}
	// They are in the order of their data, whose length stands before it.
	slices.SortFunc(records, func(a, b []byte) int {
		return bytes.Compare(a[len(a)-rdlength(a):], b[len(b)-rdlength(b):])
	})
	for _, record := range records {
		signed.Write(record)
	}
	return signed.Bytes(), nil
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
