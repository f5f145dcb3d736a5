package dnssec

import (
	"encoding/base64"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// The keys of RFC 4034 section 5.4, RFC 6605 section 6 and RFC 8080 section 6.
const (
	rsa1    = "AQOeiiR0GOMYkDshWoSKz9XzfwJr1AYtsmx3TGkJaNXVbfi/2pHm822aJ5iI9BMzNXxeYCmZDRD99WYwYqUSdjMmmAphXdvxegXd/M5+X7OrzKBaMbCVdFLUUh6DhweJBjEVv5f2wwjM9XzcnOf+EPbtG9DMBmADjFDc2w/rljwvFw=="
	p256    = "GojIhhXUN/u4v54ZQqGSnyhWJwaubCvTmeexv7bR6edbkrSqQpF64cYbcB7wNcP+e+MAnLr+Wi9xMWyQLc8NAA=="
	p384    = "xKYaNhWdGOfJ+nPrL8/arkwf2EY3MDJ+SErKivBVSum1w/egsXvSADtNJhyem5RCOpgQ6K8X1DRSEkrbYQ+OB+v8/uX45NBwY8rp65F6Glur8I/mlVNgF6W/qTI37m40"
	ed25519 = "l02Woi0iS8Aa25FQkUd9RMzZHJpBoRQwAQEX1SxZJA4="
	ed448   = "3kgROaDjrh0H2iuixWBrc8g2EpBBLCdGzHmn+G2MpTPhpj/OiBVHHSfPodx1FYYUcJKm1MDpJtIA"
)

func read(t *testing.T, flags, algorithm int64, public string) Key {
	t.Helper()
	k, err := ReadKey(flags, algorithm, public)
	assert.NilError(t, err)
	return k
}

func TestDigestsOfTheRFCs(t *testing.T) {
	for _, c := range []struct {
		name, owner      string
		flags, algorithm int64
		public           string
		ds               string
	}{
		{"RFC 4034, SHA-1", "dskey.example.com", 256, 5, rsa1, "60485 5 1 2BB183AF5F22588179A53B0A98631FAD1A292118"},
		{"RFC 4509, SHA-256", "dskey.example.com", 256, 5, rsa1, "60485 5 2 D4B7D520E7BB5F0F67674A0CCEB1E3E0614B93C4F9E99B8383F6A1E4469DA50A"},
		{"RFC 6605, P-256", "example.net", 257, 13, p256, "55648 13 2 B4C8C1FE2E7477127B27115656AD6256F424625BF5C1E2770CE6D6E37DF61D17"},
		{"RFC 6605, P-384", "example.net", 257, 14, p384, "10771 14 4 72D7B62976CE06438E9C0BF319013CF801F09ECC84B8D7E9495F27E305C6A9B0563A9B5F4D288405C3008A946DF983D6"},
		{"RFC 8080, Ed25519", "example.com", 257, 15, ed25519, "3613 15 2 3AA5AB37EFCE57F737FC1627013FEE07BDF241BD10F3B1964AB55C78E79A304B"},
		{"RFC 8080, Ed448", "example.com", 257, 16, ed448, "9713 16 2 6CCF18D5BC5D7FC2FCEB1D59D17321402F2AA8D368048DB93DD811F5CB2B19C7"},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := read(t, c.flags, c.algorithm, c.public)
			fields := strings.Fields(c.ds)
			kind, err := number("", fields[2], 255)
			assert.NilError(t, err)
			derived := k.digest(c.owner, uint8(kind))
			assert.Equal(t, derived.String(), c.ds)
			assert.Equal(t, derived.Tag, k.Tag())
			assert.Assert(t, derived.Of(strings.ToUpper(c.owner), k))
			assert.Assert(t, !derived.Of("other."+c.owner, k), "the owner is part of the digest")
			if kind == SHA256 {
				assert.Equal(t, k.DS(c.owner).String(), c.ds)
			}
		})
	}
}

func TestADigestThatCannotBeComputedIsNobodys(t *testing.T) {
	k := read(t, 257, 13, p256)
	for _, kind := range []uint8{0, 3, 5, 6, 255} {
		assert.Equal(t, k.digest("example.net", kind).String(), DS{}.String())
		assert.Assert(t, !DS{Tag: k.Tag(), Algorithm: 13, Kind: kind}.Of("example.net", k))
	}
}

func TestKeysThatAreRead(t *testing.T) {
	for _, c := range []struct{ name, text string }{
		{"data alone", "257 3 13 " + p256},
		{"data with blanks in the key", "257 3 13 " + p256[:20] + " " + p256[20:50] + "\t" + p256[50:]},
		{"the name of the algorithm", "257 3 ECDSAP256SHA256 " + p256},
		{"a record", "example.net. 3600 IN DNSKEY 257 3 13 " + p256},
		{"a record without time to live", "example.net. IN DNSKEY 257 3 13 " + p256},
		{"a record in capitals and without its dot", "EXAMPLE.NET in dnskey 257 3 13 " + p256},
		{"a record without owner", "3600 IN DNSKEY 257 3 13 " + p256},
		{"a record of the apex", "@ DNSKEY 257 3 13 " + p256},
		{"a record of several lines, with a comment", "example.net. 3600 IN DNSKEY 257 3 13 (\n\t" + p256[:40] + "\n\t" + p256[40:] + "\n\t) ; KSK; alg = ECDSAP256SHA256 ; key id = 55648"},
	} {
		t.Run(c.name, func(t *testing.T) {
			k, err := ParseKey("example.net", c.text)
			assert.NilError(t, err)
			assert.Equal(t, k.String(), "257 3 13 "+p256)
			assert.Equal(t, k.Tag(), uint16(55648))
			assert.Equal(t, k.Doubt(), "")
		})
	}
	for _, text := range []string{"257 3 14 " + p384, "257 3 15 " + ed25519, "257 3 16 " + ed448} {
		_, err := ParseKey("example.com", text)
		assert.NilError(t, err)
	}
}

// encode makes base64 of bytes.
func encode(parts ...[]byte) string {
	var all []byte
	for _, part := range parts {
		all = append(all, part...)
	}
	return base64.StdEncoding.EncodeToString(all)
}

// ones are bytes of an odd number without zeros in front.
func ones(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = 0xff
	}
	return b
}

func TestKeysThatAreRefused(t *testing.T) {
	off := ones(64) // no point of the curve
	for _, c := range []struct{ name, text, says string }{
		{"nothing", "", "is no DNSKEY record"},
		{"a comment", "; 257 3 13 " + p256, "is no DNSKEY record"},
		{"words", "the key of example.net", "is no DNSKEY record"},
		{"another type", "example.net. IN DS 55648 13 2 00", "is no DNSKEY record"},
		{"another zone", "example.org. IN DNSKEY 257 3 13 " + p256, "is of example.org., not of example.net"},
		{"another class", "example.net. CH DNSKEY 257 3 13 " + p256, `has "CH" before its type`},
		{"no key", "257 3 13", "has not all of flags"},
		{"flags that are no number", "example.net. DNSKEY KSK 3 13 " + p256, `flags "KSK" is no number`},
		{"flags that are too large", "65536 3 13 " + p256, `flags "65536" is no number from 0 to 65535`},
		{"no flags", "0 3 13 " + p256, "flags 0 say that the key signs no zone"},
		{"an odd flag", "258 3 13 " + p256, "flags 258 have bits that mean nothing"},
		{"a revoked key", "385 3 13 " + p256, "revoked"},
		{"an entry point that signs no zone", "1 3 13 " + p256, "signs no zone"},
		{"another protocol", "257 2 13 " + p256, "protocol is 2; there is 3 alone"},
		{"a protocol that is too large", "257 256 13 " + p256, "protocol"},
		{"RSASHA1", "257 3 5 " + rsa1, "algorithm 5 is RSASHA1"},
		{"RSASHA1-NSEC3-SHA1", "257 3 7 " + rsa1, "algorithm 7 is RSASHA1-NSEC3-SHA1"},
		{"the request to delete", "0 3 0 AA==", "algorithm 0 is DELETE"},
		{"an unknown algorithm", "257 3 17 " + p256, "algorithm 17 is unknown; fit are 8 (RSASHA256), 10 (RSASHA512), 13 (ECDSAP256SHA256), 14 (ECDSAP384SHA384), 15 (ED25519), 16 (ED448)"},
		{"a private algorithm", "257 3 253 " + p256, "PRIVATEDNS"},
		{"an algorithm that is too large", "257 3 256 " + p256, `algorithm "256" is unknown`},
		{"a name of no algorithm", "257 3 ECDSA " + p256, `algorithm "ECDSA" is unknown`},
		{"no padding", "257 3 13 " + strings.TrimRight(p256, "="), "not base64"},
		{"padding in the middle", "257 3 13 AA==" + p256, "not base64"},
		{"no base64", "257 3 13 !!!!", "not base64"},
		{"the other base64", "257 3 13 " + strings.NewReplacer("+", "-", "/", "_").Replace(p256), "not base64"},
		{"bits left over", "257 3 15 " + ed25519[:42] + "5=", "not base64"},
		{"an empty key", "257 3 13 =", "not base64"},
		{"a byte too few", "257 3 13 " + encode(ones(63)), "has 63 bytes; algorithm 13 (ECDSAP256SHA256) has 64"},
		{"a byte too many", "257 3 15 " + encode(ones(33)), "has 33 bytes; algorithm 15 (ED25519) has 32"},
		{"the key of another algorithm", "257 3 16 " + ed25519, "algorithm 16 (ED448) has 57"},
		{"P-384 with the key of P-256", "257 3 14 " + p256, "has 64 bytes; algorithm 14 (ECDSAP384SHA384) has 96"},
		{"no point of the curve", "257 3 13 " + encode(off), "no point of its curve"},
		{"RSA without an exponent", "257 3 8 " + encode([]byte{0}), "ends in the length of its exponent"},
		{"RSA with an exponent of no bytes", "257 3 8 " + encode([]byte{0, 0, 0}, ones(128)), "has no exponent"},
		{"RSA that is all exponent", "257 3 8 " + encode([]byte{200}, ones(200)), "no modulus after it"},
		{"RSA with an even exponent", "257 3 8 " + encode([]byte{1, 2}, ones(256)), "not odd and above 1"},
		{"RSA with the exponent 1", "257 3 8 " + encode([]byte{1, 1}, ones(256)), "not odd and above 1"},
		{"RSA with a zero in front", "257 3 8 " + encode([]byte{1, 3, 0}, ones(256)), "zeros in front"},
		{"RSA of 1016 bits", "257 3 8 " + encode([]byte{1, 3}, ones(127)), "has 1016 bits; fit are 1024 to 4096"},
		{"RSA of 4104 bits", "257 3 10 " + encode([]byte{1, 3}, ones(513)), "has 4104 bits"},
		{"everything at once", "0 2 5 !", "flags 0 say that the key signs no zone; an entry point has 257; protocol is 2; there is 3 alone; algorithm 5 is RSASHA1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := ParseKey("example.net", c.text)
			assert.ErrorContains(t, err, c.says)
			assert.Assert(t, !strings.Contains(err.Error(), "\n"), "one line: %q", err)
		})
	}
}

func TestKeysThatMakeOneWonder(t *testing.T) {
	k, err := ParseKey("example.net", "256 3 13 "+p256)
	assert.NilError(t, err)
	assert.Assert(t, strings.Contains(k.Doubt(), "no secure entry point"), k.Doubt())
	k, err = ParseKey("example.net", "257 3 8 "+encode([]byte{3, 1, 0, 1}, ones(128)))
	assert.NilError(t, err)
	assert.Assert(t, strings.Contains(k.Doubt(), "fewer than 2048 bits"), k.Doubt())
	k, err = ParseKey("example.net", "257 3 8 "+encode([]byte{0, 0, 3, 1, 0, 1}, ones(256)))
	assert.NilError(t, err)
	assert.Equal(t, k.Doubt(), "")
}

const digest256 = "B4C8C1FE2E7477127B27115656AD6256F424625BF5C1E2770CE6D6E37DF61D17"

func TestDSThatAreRead(t *testing.T) {
	for _, c := range []struct{ name, text string }{
		{"data alone", "55648 13 2 " + digest256},
		{"small letters", "55648 13 2 " + strings.ToLower(digest256)},
		{"blanks in the digest", "55648 13 2 " + digest256[:31] + " " + digest256[31:]},
		{"a record", "example.net. 3600 IN DS 55648 13 2 " + digest256},
		{"a record of several lines", "example.net. IN DS 55648 ECDSAP256SHA256 2 (\n" + digest256[:32] + "\n" + digest256[32:] + " ) ; xibek"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, err := ParseDS("example.net", c.text)
			assert.NilError(t, err)
			assert.Equal(t, d.String(), "55648 13 2 "+digest256)
			assert.Assert(t, d.Of("example.net", read(t, 257, 13, p256)))
			assert.Assert(t, !d.Of("example.net", read(t, 256, 13, p256)), "the flags are part of the digest")
		})
	}
}

func TestDSThatAreRefused(t *testing.T) {
	for _, c := range []struct{ name, text, says string }{
		{"nothing", "", "is no DS record"},
		{"another type", "example.net. IN DNSKEY 257 3 13 " + p256, "is no DS record"},
		{"another zone", "example.org. IN DS 55648 13 2 " + digest256, "is of example.org., not of example.net"},
		{"no digest", "55648 13 2", "has not all of key tag"},
		{"a tag that is too large", "70000 13 2 " + digest256, `key tag "70000" is no number from 0 to 65535`},
		{"a negative tag", "example.net. DS -1 13 2 " + digest256, `key tag "-1"`},
		{"an algorithm that is not fit", "55648 5 2 " + digest256, "algorithm 5 is RSASHA1"},
		{"the request to delete", "0 0 0 00", "algorithm 0 is DELETE"},
		{"SHA-1", "55648 13 1 " + digest256[:40], "digest type 1 is SHA-1"},
		{"GOST", "55648 13 3 " + digest256, "digest type 3 is GOST"},
		{"SM3", "55648 13 6 " + digest256, "digest type 6 is SM3"},
		{"an unknown digest", "55648 13 7 " + digest256, "digest type 7 is unknown; fit are 2 (SHA-256) and 4 (SHA-384)"},
		{"a digest type that is too large", "55648 13 256 " + digest256, `digest type "256"`},
		{"an odd number of digits", "55648 13 2 " + digest256[1:], "pairs of hexadecimal digits"},
		{"no hexadecimal digits", "55648 13 2 " + strings.Repeat("Z", 64), "pairs of hexadecimal digits"},
		{"the length of SHA-1", "55648 13 2 " + digest256[:40], "has 20 bytes; digest type 2 has 32"},
		{"SHA-384 with the length of SHA-256", "55648 13 4 " + digest256, "has 32 bytes; digest type 4 has 48"},
		{"everything at once", "70000 5 1 ABC", "key tag \"70000\" is no number from 0 to 65535; algorithm 5 is RSASHA1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := ParseDS("example.net", c.text)
			assert.ErrorContains(t, err, c.says)
			assert.Assert(t, !strings.Contains(err.Error(), "\n"), "one line: %q", err)
		})
	}
}

func TestWhatOthersHaveStored(t *testing.T) {
	k, err := ReadKey(256, 5, rsa1[:40]+"\n"+rsa1[40:])
	assert.NilError(t, err, "it may be unfit")
	assert.Assert(t, k.Equal(read(t, 256, 5, rsa1)))
	_, err = ReadKey(70000, 13, p256)
	assert.ErrorContains(t, err, "range")
	_, err = ReadKey(257, 13, "!")
	assert.ErrorContains(t, err, "base64")
	_, err = ReadDS(1, 5, 1, "2BB183AF5F22588179A53B0A98631FAD1A292118")
	assert.NilError(t, err)
	_, err = ReadDS(1, 5, 1, "")
	assert.ErrorContains(t, err, "hexadecimal")
	_, err = ReadDS(-1, 5, 1, "00")
	assert.ErrorContains(t, err, "range")
}

// FuzzParseKey shows that a key that is taken can be written and read again, and is
// one that package dns makes a tag and a digest of.
func FuzzParseKey(f *testing.F) {
	for _, text := range []string{
		"257 3 13 " + p256, "example.net. 3600 IN DNSKEY 257 3 14 (" + p384 + ") ; x", "257 3 15 " + ed25519, "257 3 8 " + rsa1, "0 3 0 AA==", "",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		k, err := ParseKey("example.net", text)
		if err != nil {
			return
		}
		again, err := ParseKey("example.net", k.String())
		assert.NilError(t, err)
		assert.Assert(t, again.Equal(k))
		assert.Assert(t, k.Flags == 256 || k.Flags == 257)
		assert.Assert(t, k.DS("example.net").Of("example.net", again))
		d, err := ParseDS("example.net", k.DS("example.net").String())
		assert.NilError(t, err)
		assert.Equal(t, d.Tag, k.Tag())
	})
}

// FuzzParseDS shows that a DS that is taken can be written and read again.
func FuzzParseDS(f *testing.F) {
	for _, text := range []string{"55648 13 2 " + digest256, "example.net. IN DS 1 8 4 (" + digest256 + digest256[:32] + ")", "0 0 0 00", ""} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := ParseDS("example.net", text)
		if err != nil {
			return
		}
		again, err := ParseDS("example.net", d.String())
		assert.NilError(t, err)
		assert.Assert(t, again.Equal(d))
		assert.Equal(t, len(d.Digest), map[uint8]int{2: 32, 4: 48}[d.Kind])
	})
}
