package catalog

import (
	"sync"

	"fediversity.eu/slipway/targets/front"
)

// Front is what the binary of this repository serves.
func Front() front.Front {
	return front.Front{Registry: sync.OnceValues(Registry)}
}
