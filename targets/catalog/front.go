package catalog

import (
	"context"
	"sync"

	"fediversity.eu/slipway/internal/setup"
	"fediversity.eu/slipway/methods/tofu/supervisor"
	"fediversity.eu/slipway/targets/front"
)

// Front is what the binary of this repository serves.
func Front() front.Front {
	return front.Front{Registry: sync.OnceValues(Registry), Helper: supervisor.Main, Targets: own(), Tasks: []front.Task{{
		Name: "setup", Description: "installs what is needed beyond Go on Debian and Ubuntu, and elsewhere says what is missing",
		Run: func(ctx context.Context, call front.Call) error {
			return setup.Run(ctx, call.Environment, call.Log, setup.Parts())
		},
	}}}
}
