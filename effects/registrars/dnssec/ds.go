package dnssec

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

// DS is the data of a DS record.
type DS struct {
	Tag       uint16
	Algorithm uint8 // of the key
	Kind      uint8 // of the digest
	Digest    []byte
}

// The digests of keys (IANA, "Digest Algorithms").
const (
	SHA1   = 1
	SHA256 = 2
	SHA384 = 4
)

// kinds are the digests that are fit, and their bytes.
var kinds = map[uint8]int{SHA256: 32, SHA384: 48}

// unfitKinds are those that have a name and no use here.
var unfitKinds = map[uint8]string{
	0: "reserved", SHA1: "SHA-1, which is no longer to be used", 3: "GOST R 34.11-94, which is no longer to be used",
	5: "GOST R 34.11-2012, which next to nobody checks", 6: "SM3, which next to nobody checks",
}

// ParseDS reads a DS record of a zone, or its data alone, and refuses what no
// registrar should be given. owner has no dot at its end. The error names every
// fault.
func ParseDS(owner, text string) (DS, error) {
	fields, err := rdata(text, "DS", owner)
	if err != nil {
		return DS{}, err
	}
	if len(fields) < 4 {
		return DS{}, errors.New("has not all of key tag, algorithm, digest type and digest")
	}
	tag, badTag := number("key tag", fields[0], 65535)
	algorithm, badAlgorithm := readAlgorithm(fields[1])
	kind, badKind := number("digest type", fields[2], 255)
	digest, badDigest := hex.DecodeString(strings.Join(fields[3:], ""))
	d := DS{Tag: uint16(tag), Algorithm: algorithm, Kind: uint8(kind), Digest: digest}
	if badAlgorithm == nil {
		badAlgorithm = fit(algorithm)
	}
	if badDigest != nil {
		badDigest = errors.New("the digest is not made of pairs of hexadecimal digits")
	}
	if badKind == nil {
		badKind = d.checkKind()
	}
	if want, ok := kinds[d.Kind]; ok && badKind == nil && badDigest == nil && len(digest) != want {
		badDigest = fmt.Errorf("the digest has %d bytes; digest type %d has %d", len(digest), kind, want)
	}
	return d, join([]error{badTag, badAlgorithm, badKind, badDigest})
}

func (d DS) checkKind() error {
	if _, ok := kinds[d.Kind]; ok {
		return nil
	}
	name := unfitKinds[d.Kind]
	if name == "" {
		name = "unknown"
	}
	return fmt.Errorf("digest type %d is %s; fit are %d (SHA-256) and %d (SHA-384)", d.Kind, name, SHA256, SHA384)
}

// ReadDS makes a DS of what somebody else has stored: it may be unfit, but is
// well-formed.
func ReadDS(tag, algorithm, kind int64, digest string) (DS, error) {
	if tag < 0 || tag > 65535 || algorithm < 0 || algorithm > 255 || kind < 0 || kind > 255 {
		return DS{}, fmt.Errorf("key tag %d, algorithm %d and digest type %d are not all in their range", tag, algorithm, kind)
	}
	decoded, err := hex.DecodeString(strings.Join(strings.Fields(digest), ""))
	if err != nil || len(decoded) == 0 {
		return DS{}, errors.New("the digest is not made of pairs of hexadecimal digits")
	}
	return DS{Tag: uint16(tag), Algorithm: uint8(algorithm), Kind: uint8(kind), Digest: decoded}, nil
}

// Of tells whether the DS is that of a zone's key, by tag, algorithm and digest. A
// digest that can't be computed is nobody's.
func (d DS) Of(owner string, k Key) bool {
	return d.Tag == k.Tag() && d.Algorithm == k.Algorithm && len(d.Digest) > 0 && d.Equal(k.digest(owner, d.Kind))
}

// Equal tells whether two DS are one.
func (d DS) Equal(other DS) bool { return d.String() == other.String() }

// String is the data of the record, as a zone file has it.
func (d DS) String() string {
	return fmt.Sprintf("%d %d %d %X", d.Tag, d.Algorithm, d.Kind, d.Digest)
}
