package toolchain

import (
	"context"
	"path/filepath"

	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/report"
)

// Binary builds the binary of the checkout as bin/slipway, and gives its path:
// static, without paths of this host, and on its own without a checkout.
func Binary(ctx context.Context, e env.Environment, log *report.Log) (string, error) {
	var k Keys
	if err := e.Load(ctx, env.For{}, &k); err != nil {
		return "", &report.Fault{Code: report.Usage, What: "read the coordinates", Why: err}
	}
	module, err := Module()
	if err != nil {
		return "", &report.Fault{Code: report.Usage, What: "find the module", Why: err, Hint: "the binary is built in a checkout of Slipway"}
	}
	path := filepath.Join(module, "bin", "slipway")
	lines := log.Lines()
	defer func() { _ = lines.Close() }()
	build := k.Go(e, module, map[string]string{"CGO_ENABLED": "0"},
		"build", "-trimpath", "-ldflags=-s -w", "-o", path, "./cmd/slipway")
	build.Stderr = lines
	if err := build.Run(ctx); err != nil {
		return "", report.Fail("build the binary", err, "")
	}
	log.Infof("%s", path)
	return path, nil
}
