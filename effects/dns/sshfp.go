package dns

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	mdns "github.com/miekg/dns"
	"golang.org/x/crypto/ssh"
)

// algorithms are the numbers of host keys' types (RFC 4255, 6594, 7479).
var algorithms = map[string]uint8{
	ssh.KeyAlgoRSA: 1, ssh.KeyAlgoECDSA256: 3, ssh.KeyAlgoECDSA384: 3, ssh.KeyAlgoECDSA521: 3, ssh.KeyAlgoED25519: 4,
}

// sha256Fingerprint is the type of a fingerprint (RFC 6594).
const sha256Fingerprint = 2

// fingerprints makes the values of SSHFP records of the pinned host keys of a
// machine: lines of known_hosts, or of a host's own *_key.pub.
func fingerprints(lines []string) ([]mdns.RR, error) {
	var values []mdns.RR
	var faults []error
	hosts, seen := map[string]bool{}, map[string]bool{}
	for i, line := range lines {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") || strings.HasPrefix(line, "@revoked") {
			continue
		}
		key, host := findKey(strings.Fields(line))
		if key == nil {
			faults = append(faults, fmt.Errorf("host key %d: not a public key", i+1))
			continue
		}
		algorithm, ok := algorithms[key.Type()]
		if !ok {
			faults = append(faults, fmt.Errorf("host key %d: keys of type %s have no fingerprint in DNS", i+1, key.Type()))
			continue
		}
		if host != "" {
			hosts[host] = true
		}
		sum := sha256.Sum256(key.Marshal())
		value := &mdns.SSHFP{Algorithm: algorithm, Type: sha256Fingerprint, FingerPrint: hex.EncodeToString(sum[:])}
		if !seen[value.FingerPrint] {
			values = append(values, value)
		}
		seen[value.FingerPrint] = true
	}
	if len(hosts) > 1 {
		faults = append(faults, errors.New("the host keys are of several hosts: give only those of the machine"))
	}
	return values, errors.Join(faults...)
}

// findKey looks for "type base64", at the start of a line or after the host.
func findKey(fields []string) (key ssh.PublicKey, host string) {
	for at := range min(2, max(0, len(fields)-1)) {
		blob, err := base64.StdEncoding.DecodeString(fields[at+1])
		if err != nil {
			continue
		}
		if key, err := ssh.ParsePublicKey(blob); err == nil && key.Type() == fields[at] {
			if at == 1 {
				host = fields[0]
			}
			return key, host
		}
	}
	return nil, ""
}
