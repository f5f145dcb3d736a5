package groups

import (
	"testing"

	"gotest.tools/v3/assert"
)

func TestPlatformOfAMachine(t *testing.T) {
	assert.Equal(t, Machine{}.Platform(), "x86_64-linux")
	assert.Equal(t, Machine{System: "aarch64-linux"}.Platform(), "aarch64-linux")
}

func TestAMachineIsPublishedUnlessInternal(t *testing.T) {
	assert.Assert(t, Machine{}.Published())
	assert.Assert(t, !Machine{Internal: true}.Published())
}
