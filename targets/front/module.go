package front

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"fediversity.eu/slipway/groups"
	"fediversity.eu/slipway/groups/modulejson"
	"fediversity.eu/slipway/targets/report"
)

// module prints the module.json of a module source with groups, or with all.
func (f Front) module(to io.Writer, names []string) report.Code {
	registry, err := f.Registry()
	if err != nil {
		explain(plainly(), err)
		return report.Failed
	}
	declared := registry.Groups()
	var known []string
	for _, group := range declared {
		known = append(known, group.Name)
	}
	for _, name := range names {
		if !slices.Contains(known, name) {
			return usage(fmt.Errorf("module: unknown group %q; there are %s", name, strings.Join(known, ", ")))
		}
	}
	for _, group := range declared {
		if slices.Contains(names, group.Name) {
			for _, part := range group.Parts {
				names = append(names, part.Group)
			}
		}
	}
	if len(names) > 0 {
		declared = slices.DeleteFunc(declared, func(g groups.Group) bool { return !slices.Contains(names, g.Name) })
	}
	module, err := modulejson.Of(declared...)
	var text []byte
	if err == nil {
		text, err = module.Bytes()
	}
	if err != nil {
		explain(plainly(), err)
		return report.CodeOf(err)
	}
	return answer(to, text)
}
