package source

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"fediversity.eu/slipway/internal/child"
	"fediversity.eu/slipway/internal/plaintext"
)

// failed says in a line why a program could not fetch a source.
func failed(ctx context.Context, err error, who, hint string) error {
	failure, ok := errors.AsType[*child.Error](err)
	switch {
	case ctx.Err() != nil || !ok:
		return err
	case failure.NotFound():
		return &refusal{fmt.Errorf("%s is not installed", who), hint + "; mage setup installs it"}
	case failure.Killed():
		return fmt.Errorf("%s was killed while it fetched the source: memory may have run out on this host: %w", who, err)
	}
	why := reason(failure.Said)
	for _, known := range faults {
		if strings.Contains(why, known.says) {
			hint = known.hint
		}
	}
	return &refusal{fmt.Errorf("%s could not fetch it: %s", who, why), "nothing was started; " + hint}
}

// faults are what another hint is for than the usual one.
var faults = []struct{ says, hint string }{
	{"dubious ownership", "the repository belongs to another user, and git reads none such by its path: run as that user, give it to the one who runs this (chown -R), or name it by ssh or https"},
	{"No space left on device", "make room where the cache is; CACHE_DIR names another directory"},
}

// follows are errors of git that only say that there was one before (git,
// pkt-line.c, fetch-pack.c, connect.c).
var follows = regexp.MustCompile(`^(?:error:|fatal: (?:Could not read from remote repository|[Tt]he remote end hung up|early EOF|(?:fetch-pack: )?(?:invalid )?index-pack|unpack-objects|protocol error|remote did not send|fetch-pack: unexpected disconnect).*)$`)

// mostReason is how long a reason may be that is shown in a line.
const mostReason = 1 << 10

// reason is what Nix or git name as errors, with what was said before it: of a server
// that can't be reached, git itself says only that, and ssh why. An error that only
// follows from another stands for itself where there is no other.
func reason(stderr string) string {
	var causes, before []string
	last := ""
	for line := range strings.Lines(plaintext.Lines(stderr)) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "error:") || strings.HasPrefix(line, "fatal:"):
			if last = line; !follows.MatchString(line) && !slices.Contains(causes, line) {
				causes = append(causes, line)
			}
		case last == "" && line != "" && !strings.HasPrefix(line, "warning:") && !strings.HasPrefix(line, "path is "):
			before = append(before, line)
		}
	}
	why := strings.Join(causes, "; ")
	if why == "" {
		why = last
	}
	said := strings.Join(before, "; ")
	switch {
	case why == "":
		why = said
	case said != "":
		why += " (" + said + ")"
	}
	return plaintext.Cut(why, mostReason)
}
