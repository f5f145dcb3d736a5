package front

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"fediversity.eu/slipway/targets/apps"
	"fediversity.eu/slipway/targets/report"
)

// apps makes a folder hold a link for each program.
func (f Front) apps(words []string) report.Code {
	if len(words) != 1 || words[0] == "" {
		return usage(errors.New("apps: which folder? it takes one"))
	}
	result, err := f.link(words[0])
	if err != nil {
		explain(plainly(), err)
		return report.CodeOf(err)
	}
	return answer(os.Stdout, fmt.Appendf(nil, "%s: %d links, %d of them new, and %d removed\n", words[0], result.Made+result.Kept, result.Made, result.Removed))
}

func (f Front) link(folder string) (apps.Result, error) {
	registry, err := f.Registry()
	if err != nil {
		return apps.Result{}, err
	}
	dir, err := filepath.Abs(folder)
	if err != nil {
		return apps.Result{}, report.Fail("link the apps", err, "")
	}
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return apps.Result{}, &report.Fault{Code: report.Usage, What: "link the apps", Why: fmt.Errorf("%s is no folder", folder), Hint: "name a folder, which may be new"}
	}
	binary, err := f.binary(context.Background())
	if err != nil {
		return apps.Result{}, err
	}
	var names []string
	for _, p := range registry.Programs() {
		names = append(names, p.Name)
		if p.Short != "" {
			names = append(names, p.Short)
		}
	}
	result, err := apps.Link(dir, binary, names)
	if foreign, ok := errors.AsType[*apps.ForeignError](err); ok {
		return result, report.Refuse("link the apps", foreign, "nothing was changed: move these away, or choose another folder")
	}
	if err != nil {
		return result, report.Fail("link the apps", err, "run again, it goes on where this ended")
	}
	return result, nil
}
