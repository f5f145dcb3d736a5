package env

import (
	"errors"
	"fmt"
	"io"
	"strings"
)

// redacted stands where a secret's text would.
const redacted = "[redacted]"

// shortest is the least length of a secret in bytes. A shorter one could not be
// kept out of the output: replacing every "a" tells what was replaced.
const shortest = 4

// Secret is a text that prints as [redacted] in every format, also inside
// structs, slices and maps. The text sits behind a pointer because fmt calls no
// method of an unexported field, but prints what it finds there. The zero Secret
// is unset. Two Secrets of one text are Equal, but not ==.
type Secret struct{ text *string }

// NewSecret returns a Secret that holds text; an empty one is unset.
func NewSecret(text string) Secret {
	if text == "" {
		return Secret{}
	}
	return Secret{&text}
}

// Reveal returns the text, or "" where the secret is unset. It is the only way to
// it, so that searching for the name finds every use.
func (s Secret) Reveal() string {
	if s.text == nil {
		return ""
	}
	return *s.text
}

// IsSet says whether there is a text.
func (s Secret) IsSet() bool { return s.text != nil }

// Equal says whether both hold the same text, or none.
func (s Secret) Equal(other Secret) bool { return s.Reveal() == other.Reveal() }

// String returns [redacted].
func (s Secret) String() string { return redacted }

// Format prints [redacted], whatever the verb.
func (s Secret) Format(state fmt.State, _ rune) { _, _ = io.WriteString(state, redacted) }

// MarshalText returns [redacted]. JSON uses it as well, also for keys of maps.
func (s Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// EnvDecode takes any text without NUL that can be redacted.
func (s *Secret) EnvDecode(value string) error {
	switch {
	case len(value) < shortest:
		return fmt.Errorf("shorter than %d bytes", shortest)
	case strings.ContainsRune(value, 0):
		return errors.New("holds a NUL byte")
	}
	*s = NewSecret(value)
	return nil
}

// Valid says what EnvDecode accepts.
func (s *Secret) Valid() string { return fmt.Sprintf("secret text of at least %d bytes", shortest) }
