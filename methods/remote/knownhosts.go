package remote

import (
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base64"
	"strconv"
	"strings"
)

// named tells whether the host patterns of a known_hosts line name this hop.
func (h Hop) named(patterns string) bool {
	name := strings.ToLower(h.Host)
	if port := h.Port; port != 0 && port != defaultPort {
		name = "[" + name + "]:" + strconv.Itoa(port)
	}
	found := false
	for pattern := range strings.SplitSeq(patterns, ",") {
		pattern, not := strings.CutPrefix(strings.ToLower(pattern), "!")
		switch {
		case strings.HasPrefix(patterns, "|1|"):
			found = hashes(patterns, name)
		case !match(pattern, name):
		case not:
			return false
		default:
			found = true
		}
	}
	return found
}

// hashes tells whether a hashed host field, "|1|salt|hash", stands for name.
func hashes(field, name string) bool {
	parts := strings.Split(field, "|")
	if len(parts) != 4 {
		return false
	}
	salt, err := base64.StdEncoding.DecodeString(parts[2])
	want, err2 := base64.StdEncoding.DecodeString(parts[3])
	mac := hmac.New(sha1.New, salt)
	mac.Write([]byte(name))
	return err == nil && err2 == nil && hmac.Equal(mac.Sum(nil), want)
}

// match knows * and ?, and takes brackets as they are.
func match(pattern, name string) bool {
	switch {
	case pattern == "":
		return name == ""
	case pattern[0] == '*':
		return match(pattern[1:], name) || name != "" && match(pattern, name[1:])
	}
	return name != "" && (pattern[0] == '?' || pattern[0] == name[0]) && match(pattern[1:], name[1:])
}
