package bounded

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

func TestBuffer(t *testing.T) {
	var told []error
	b := Buffer{Limit: 10, Full: func(err error) { told = append(told, err) }}
	n, err := b.Write([]byte("12345678"))
	assert.NilError(t, err)
	assert.Equal(t, n, 8)
	for range 2 {
		_, err = b.Write([]byte(strings.Repeat("x", 100)))
		assert.ErrorContains(t, err, "and the rest was cut")
	}
	assert.Equal(t, b.String(), "12345678xx")
	assert.Equal(t, len(told), 1)
}
