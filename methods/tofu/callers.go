package tofu

import (
	"slices"
	"strings"

	"fediversity.eu/slipway/methods/tofu/backend"
	"fediversity.eu/slipway/methods/tofu/binary"
	"fediversity.eu/slipway/targets/env"
)

// note says which of the caller's own variables of OpenTofu count for nothing: one
// who knows OpenTofu expects them to.
func (e *Engine) note() {
	names := e.Environment.Names("TF_")
	if len(names) == 0 {
		return
	}
	declared, err := env.Declared(Keys{}, backend.Keys{}, binary.Keys{})
	if err != nil {
		return // a test of ours holds the declarations to be sound
	}
	ours := map[string]bool{}
	for _, key := range declared {
		for _, name := range key.Variables() {
			ours[name] = true
		}
	}
	dropped := slices.DeleteFunc(names, func(name string) bool { return ours[name] })
	if len(dropped) > 0 {
		e.Log.Infof("passed over, since runs are the same for every caller: %s", strings.Join(dropped, ", "))
	}
}
