package image

import (
	"context"

	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/task"
)

// StreamKeys say where else images go.
type StreamKeys struct {
	Streams env.Path `env:"IMAGE_STREAMS" desc:"folder that images are also published to, for a web server to serve as a simplestreams server"`
}

func (r *run) stream(context.Context, *task.Run, []built) error { return nil }

func (r *run) streamPlan(*task.Run, []built) error { return nil }
