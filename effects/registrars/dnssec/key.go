package dnssec

import (
	"crypto/ecdh"
	"encoding/base64"
	"errors"
	"fmt"
	"math/big"
	"math/bits"
	"strings"

	"github.com/miekg/dns"
)

// Key is the data of a DNSKEY record.
type Key struct {
	Flags     uint16
	Algorithm uint8
	Public    []byte
}

// The flags of a key: one that signs a zone, and one that is also a secure entry
// point, which is what a registrar wants (RFC 4034 section 2.1.1).
const (
	ZoneKey    = 256
	EntryPoint = 257
)

// protocol is the only one that there is (RFC 4034 section 2.1.2).
const protocol = 3

// ParseKey reads a DNSKEY record of a zone, or its data alone, and refuses what no
// registrar should be given. owner has no dot at its end. The error names every
// fault.
func ParseKey(owner, text string) (Key, error) {
	fields, err := rdata(text, "DNSKEY", owner)
	if err != nil {
		return Key{}, err
	}
	if len(fields) < 4 {
		return Key{}, errors.New("has not all of flags, protocol, algorithm and key")
	}
	flags, badFlags := number("flags", fields[0], 65535)
	proto, badProtocol := number("protocol", fields[1], 255)
	algorithm, badAlgorithm := readAlgorithm(fields[2])
	public, badKey := decode(strings.Join(fields[3:], ""))
	k := Key{Flags: uint16(flags), Algorithm: algorithm, Public: public}
	if badFlags == nil {
		badFlags = k.checkFlags()
	}
	if badProtocol == nil && proto != protocol {
		badProtocol = fmt.Errorf("protocol is %d; there is %d alone", proto, protocol)
	}
	if badAlgorithm == nil {
		badAlgorithm = fit(algorithm)
	}
	if badKey == nil && badAlgorithm == nil {
		badKey = k.checkPublic()
	}
	return k, join([]error{badFlags, badProtocol, badAlgorithm, badKey})
}

// ReadKey makes a key of what somebody else has stored: it may be unfit, but is
// well-formed.
func ReadKey(flags, algorithm int64, public string) (Key, error) {
	if flags < 0 || flags > 65535 || algorithm < 0 || algorithm > 255 {
		return Key{}, fmt.Errorf("flags %d and algorithm %d are not both in their range", flags, algorithm)
	}
	decoded, err := decode(strings.Join(strings.Fields(public), ""))
	return Key{Flags: uint16(flags), Algorithm: uint8(algorithm), Public: decoded}, err
}

func (k Key) checkFlags() error {
	switch {
	case k.Flags == ZoneKey || k.Flags == EntryPoint:
		return nil
	case k.Flags&0x80 != 0:
		return fmt.Errorf("flags %d say that the key is revoked", k.Flags)
	case k.Flags&0x100 == 0:
		return fmt.Errorf("flags %d say that the key signs no zone; an entry point has %d", k.Flags, EntryPoint)
	}
	return fmt.Errorf("flags %d have bits that mean nothing; an entry point has %d", k.Flags, EntryPoint)
}

// checkPublic looks at the key itself.
func (k Key) checkPublic() error {
	length := func(want int) error {
		if len(k.Public) != want {
			return fmt.Errorf("the key has %d bytes; algorithm %d (%s) has %d", len(k.Public), k.Algorithm, algorithms[k.Algorithm], want)
		}
		return nil
	}
	point := func(curve ecdh.Curve) error {
		// RFC 6605 section 4: the two coordinates, without the byte that says so.
		if _, err := curve.NewPublicKey(append([]byte{4}, k.Public...)); err != nil {
			return errors.New("the key is no point of its curve")
		}
		return nil
	}
	switch k.Algorithm {
	case ECDSAP256SHA256:
		if err := length(64); err != nil {
			return err
		}
		return point(ecdh.P256())
	case ECDSAP384SHA384:
		if err := length(96); err != nil {
			return err
		}
		return point(ecdh.P384())
	case ED25519:
		return length(32)
	case ED448:
		return length(57)
	}
	return k.checkRSA()
}

// The length of an RSA modulus in bits (RFC 5702 section 2).
const (
	shortestModulus = 1024
	longestModulus  = 4096
)

// checkRSA takes an RSA key apart (RFC 3110 section 2).
func (k Key) checkRSA() error {
	rest := k.Public[1:]
	size := int(k.Public[0])
	if size == 0 {
		if len(rest) < 2 {
			return errors.New("the RSA key ends in the length of its exponent")
		}
		size, rest = int(rest[0])<<8|int(rest[1]), rest[2:]
	}
	if size == 0 || size >= len(rest) {
		return errors.New("the RSA key has no exponent, or no modulus after it")
	}
	exponent, modulus := rest[:size], rest[size:]
	if e := new(big.Int).SetBytes(exponent); e.Cmp(big.NewInt(1)) <= 0 || e.Bit(0) == 0 {
		return errors.New("the RSA key's exponent is not odd and above 1")
	}
	if exponent[0] == 0 || modulus[0] == 0 {
		return errors.New("the RSA key has zeros in front")
	}
	if n := 8*(len(modulus)-1) + bits.Len8(modulus[0]); n < shortestModulus || n > longestModulus {
		return fmt.Errorf("the RSA key's modulus has %d bits; fit are %d to %d", n, shortestModulus, longestModulus)
	}
	return nil
}

// Doubt says what a valid key makes one wonder about; empty means nothing.
func (k Key) Doubt() string {
	switch {
	case k.Flags == ZoneKey:
		return fmt.Sprintf("key %d is no secure entry point (flags %d); the parent should know the key that has flags %d", k.Tag(), ZoneKey, EntryPoint)
	case (k.Algorithm == RSASHA256 || k.Algorithm == RSASHA512) && len(k.Public) < 2048/8:
		return fmt.Sprintf("key %d is an RSA key of fewer than 2048 bits", k.Tag())
	}
	return ""
}

// record gives the key as package dns has it.
func (k Key) record(owner string) *dns.DNSKEY {
	return &dns.DNSKEY{
		Hdr:   dns.RR_Header{Name: dns.Fqdn(owner), Rrtype: dns.TypeDNSKEY, Class: dns.ClassINET},
		Flags: k.Flags, Protocol: protocol, Algorithm: k.Algorithm, PublicKey: base64.StdEncoding.EncodeToString(k.Public),
	}
}

// Tag is the key's tag (RFC 4034 appendix B): many keys may have the same.
func (k Key) Tag() uint16 { return k.record("").KeyTag() }

// DS derives what a parent publishes of the key of a zone, with SHA-256 (RFC 4509).
func (k Key) DS(owner string) DS { return k.digest(owner, SHA256) }

// digest derives a DS with some digest; the zero DS where that is not known.
func (k Key) digest(owner string, kind uint8) DS {
	if kind != SHA1 && kind != SHA256 && kind != SHA384 {
		return DS{} // package dns has hashes under other numbers than IANA's
	}
	derived := k.record(owner).ToDS(kind)
	if derived == nil {
		return DS{}
	}
	d, err := ReadDS(int64(derived.KeyTag), int64(derived.Algorithm), int64(kind), derived.Digest)
	if err != nil {
		return DS{}
	}
	return d
}

// Equal tells whether two keys are one.
func (k Key) Equal(other Key) bool { return k.String() == other.String() }

// String is the data of the record, as a zone file has it.
func (k Key) String() string {
	return fmt.Sprintf("%d %d %d %s", k.Flags, protocol, k.Algorithm, base64.StdEncoding.EncodeToString(k.Public))
}
