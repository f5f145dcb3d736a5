package account

import (
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base32"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"time"
)

// period is how long a one-time password is the one to give.
const period = 30 * time.Second

// OneTime gives the one-time password of six digits that a shared secret in base32
// has at some time (RFC 6238, with its defaults).
func OneTime(secret string, at time.Time) (string, error) {
	text := strings.ToUpper(strings.TrimRight(strings.ReplaceAll(secret, " ", ""), "="))
	key, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(text)
	if err != nil || len(key) == 0 {
		return "", errors.New("is not base32")
	}
	mac := hmac.New(sha1.New, key)
	_ = binary.Write(mac, binary.BigEndian, uint64(at.Unix()/int64(period/time.Second)))
	sum := mac.Sum(nil)
	number := binary.BigEndian.Uint32(sum[sum[len(sum)-1]&15:]) & 0x7fffffff
	return fmt.Sprintf("%06d", number%1e6), nil
}
