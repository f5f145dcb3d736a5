package account

import (
	"encoding/base64"
	"slices"

	"fediversity.eu/slipway/effects/registrars/dnssec"
)

// public writes a key as registrars take it.
func public(k dnssec.Key) string { return base64.StdEncoding.EncodeToString(k.Public) }

func contains(keys []dnssec.Key, k dnssec.Key) bool { return slices.ContainsFunc(keys, k.Equal) }

// lacking lists those of keys that others has not.
func lacking(keys, others []dnssec.Key) []dnssec.Key {
	var list []dnssec.Key
	for _, k := range keys {
		if !contains(others, k) {
			list = append(list, k)
		}
	}
	return list
}
