package front

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"

	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/report"
)

// binary is the path of a binary of all programs that stays.
func (f Front) binary(ctx context.Context) (string, error) {
	if f.Binary != nil {
		return f.Binary(ctx, env.Process(), plainly())
	}
	path, err := os.Executable()
	if err != nil {
		return "", report.Fail("find this binary", err, "")
	}
	if passing.MatchString(path) {
		return "", report.Refuse("find this binary",
			fmt.Errorf("%s is one that go or mage made for this run: %w", path, errPassing),
			"build one that stays, as with go build -o bin/slipway ./cmd/slipway, and call that; where Slipway is checked out, go tool mage apps does both")
	}
	return path, nil
}

var errPassing = errors.New("it is removed some day, and links to it would lead nowhere")

// passing matches executables in the caches of go tool and go run, and of mage.
var passing = regexp.MustCompile(`/go-build[^/]*/|/[0-9a-f]{2}/[0-9a-f]{64}-d/[^/]+$|/[0-9a-f]{40}$`)
