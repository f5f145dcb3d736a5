package child

import (
	"os"
	"testing"

	"fediversity.eu/slipway/internal/disposition"
)

func TestMain(m *testing.M) {
	disposition.Default()
	os.Exit(m.Run())
}
