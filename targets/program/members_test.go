package program

import (
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

func TestMembersAndWhatTheyNeed(t *testing.T) {
	w := newWorld(t, machine("web", "wiki"), machine("wiki"), internal("db"))
	group := w.registry.Groups()[0].Name
	find := func(name string) Program {
		p, ok := w.registry.Find(group + "-" + name)
		assert.Assert(t, ok, name)
		return p
	}
	shown := func(p Program) string {
		var all []string
		needs := w.registry.Needs(p)
		for _, m := range w.registry.Members(p) {
			before := slices.Sorted(slices.Values(needs[m.Name]))
			all = append(all, strings.TrimPrefix(m.Name, group+"-")+"("+strings.ReplaceAll(strings.Join(before, " "), group+"-", "")+")")
		}
		return strings.Join(all, " ")
	}
	assert.Equal(t, shown(find("ssh-all")), "ssh-web-apply() ssh-wiki-apply()")
	assert.Equal(t, shown(find("ssh-combined")), "ssh-web-apply(ssh-db-apply ssh-wiki-apply) ssh-wiki-apply(ssh-db-apply) ssh-db-apply()")
	assert.Equal(t, shown(find("combined-destroy")), "ssh-web-destroy() ssh-wiki-destroy(ssh-web-destroy) ssh-db-destroy(ssh-web-destroy ssh-wiki-destroy)")
	assert.Equal(t, shown(find("ssh-web")), "")

	var verbs []string
	for _, s := range w.registry.Siblings(find("ssh-web-plan")) {
		verbs = append(verbs, s.Verb)
	}
	assert.DeepEqual(t, verbs, []string{"apply", "destroy", "plan"})
	assert.Equal(t, len(w.registry.Siblings(find("web"))), 0)
	assert.Equal(t, len(w.registry.Siblings(find("ssh-all"))), 3)
}
