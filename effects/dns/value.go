package dns

import (
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	mdns "github.com/miekg/dns"
)

// checkValue finds what the parser lets pass, and writes hexadecimal digits in
// the case that servers answer with.
func checkValue(value mdns.RR) error {
	switch v := value.(type) {
	case *mdns.DS:
		v.Digest = strings.ToLower(v.Digest)
		return checkHex("digest", v.Digest, map[uint8]int{1: 20, 2: 32, 4: 48}[v.DigestType])
	case *mdns.SSHFP:
		v.FingerPrint = strings.ToLower(v.FingerPrint)
		return checkHex("fingerprint", v.FingerPrint, map[uint8]int{1: 20, 2: 32}[v.Type])
	case *mdns.TLSA:
		v.Certificate = strings.ToLower(v.Certificate)
		if v.Usage > 3 || v.Selector > 1 || v.MatchingType > 2 {
			return fmt.Errorf("%d %d %d: the usage is 0 to 3, the selector 0 or 1, the matching type 0 to 2", v.Usage, v.Selector, v.MatchingType)
		}
		return checkHex("certificate data", v.Certificate, map[uint8]int{1: 32, 2: 64}[v.MatchingType])
	case *mdns.CAA:
		if !slices.Contains([]string{"issue", "issuewild", "issuemail", "issuevmc", "iodef", "contactemail", "contactphone"}, v.Tag) {
			return fmt.Errorf("the tag %q is none that certificate authorities know", v.Tag)
		}
		if strings.ContainsAny(v.Value, `"\`) {
			return fmt.Errorf("the value %q has a quote or a backslash in it", v.Value)
		}
		if v.Flag != 0 && v.Flag != 128 {
			return fmt.Errorf("the flag %d is neither 0 nor 128", v.Flag)
		}
	case *mdns.HTTPS:
		return checkService(&v.SVCB)
	case *mdns.SVCB:
		return checkService(v)
	}
	return nil
}

// checkHex wants so many bytes in hexadecimal; 0 is any number above none.
func checkHex(what, text string, size int) error {
	data, err := hex.DecodeString(text)
	switch {
	case err != nil:
		return fmt.Errorf("the %s is not hexadecimal", what)
	case len(data) == 0:
		return fmt.Errorf("the %s is missing", what)
	case size != 0 && len(data) != size:
		return fmt.Errorf("the %s has %d bytes and should have %d", what, len(data), size)
	}
	return nil
}

func checkService(v *mdns.SVCB) error {
	if v.Priority == 0 && len(v.Value) > 0 {
		return errors.New("a priority of 0 is an alias, which has no parameters")
	}
	for _, parameter := range v.Value {
		switch p := parameter.(type) {
		case *mdns.SVCBAlpn, *mdns.SVCBNoDefaultAlpn, *mdns.SVCBPort, *mdns.SVCBIPv4Hint, *mdns.SVCBIPv6Hint, *mdns.SVCBMandatory:
		case *mdns.SVCBECHConfig:
			// RFC 9849, section 4: the list begins with its length.
			if n := len(p.ECH) - 2; n < 1 || int(p.ECH[0])<<8+int(p.ECH[1]) != n {
				return errors.New("the parameter ech is no list of ECH configurations: its first two bytes are the length of the rest")
			}
		default:
			return fmt.Errorf("the parameter %s is not supported", parameter.Key())
		}
	}
	return nil
}

// plain is a value as OctoDNS has it in its files.
func plain(value mdns.RR) any {
	type fields = map[string]any
	switch v := value.(type) {
	case *mdns.A:
		return v.A.String()
	case *mdns.AAAA:
		return v.AAAA.String()
	case *mdns.CNAME:
		return v.Target
	case *mdns.NS:
		return v.Ns
	case *mdns.PTR:
		return v.Ptr
	case *mdns.TXT:
		return strings.Join(v.Txt, "")
	case *mdns.MX:
		return fields{"preference": v.Preference, "exchange": v.Mx}
	case *mdns.SRV:
		return fields{"priority": v.Priority, "weight": v.Weight, "port": v.Port, "target": v.Target}
	case *mdns.CAA:
		return fields{"flags": v.Flag, "tag": v.Tag, "value": v.Value}
	case *mdns.DS:
		return fields{"key_tag": v.KeyTag, "algorithm": v.Algorithm, "digest_type": v.DigestType, "digest": v.Digest}
	case *mdns.SSHFP:
		return fields{"algorithm": v.Algorithm, "fingerprint_type": v.Type, "fingerprint": v.FingerPrint}
	case *mdns.TLSA:
		return fields{"certificate_usage": v.Usage, "selector": v.Selector, "matching_type": v.MatchingType, "certificate_association_data": v.Certificate}
	case *mdns.HTTPS:
		return plain(&v.SVCB)
	case *mdns.SVCB:
		parameters := fields{}
		for _, parameter := range v.Value {
			name, text := parameter.Key().String(), parameter.String()
			switch parameter.(type) {
			case *mdns.SVCBNoDefaultAlpn:
				parameters[name] = nil
			case *mdns.SVCBPort, *mdns.SVCBECHConfig:
				parameters[name] = text
			default:
				parameters[name] = strings.Split(text, ",")
			}
		}
		return fields{"svcpriority": v.Priority, "targetname": v.Target, "svcparams": parameters}
	}
	return nil
}

// target is the name that a value points at, if it is of a type that does.
func target(value mdns.RR) string {
	switch v := value.(type) {
	case *mdns.CNAME:
		return v.Target
	case *mdns.NS:
		return v.Ns
	case *mdns.MX:
		return v.Mx
	case *mdns.SRV:
		return v.Target
	case *mdns.HTTPS:
		return v.Target
	case *mdns.SVCB:
		return v.Target
	}
	return ""
}
