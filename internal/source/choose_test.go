package source

import (
	"fmt"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"fediversity.eu/slipway/groups"
	"fediversity.eu/slipway/groups/modulejson"
	"fediversity.eu/slipway/targets/report"
)

// declared is a group whose three layers, and in effects each effect, say whose
// they are.
func declared(machines, resources, names, delegations string) groups.Group {
	return groups.Group{
		Name: "operator", Effects: []string{"dns", "registrars"},
		Machines:    []groups.Machine{{Name: "web", Modules: []string{machines + ".nix"}, Placement: groups.Local{MemoryMiB: len(resources)}, Names: []string{names}}},
		Zones:       []groups.Zone{{Name: names}},
		Delegations: []groups.Delegation{{Domain: delegations}},
	}
}

func moduleOf(t *testing.T, group groups.Group) *modulejson.Module {
	t.Helper()
	m, err := modulejson.Of(group)
	assert.NilError(t, err)
	return &m
}

// sides gives for each layer and effect whose it is.
func sides(group groups.Group) string {
	who := func(text string) string { return strings.TrimSuffix(text, ".nix") }
	memory := map[int]string{len("provider"): "provider", len("operators"): "operators"}
	web := group.Machines[0]
	if web.Names[0] != group.Zones[0].Name {
		return "names of a machine and of its zone are of two sides"
	}
	return fmt.Sprintf("machines=%s resources=%s dns=%s registrars=%s", who(web.Modules[0]), memory[web.Placement.(groups.Local).MemoryMiB], group.Zones[0].Name, group.Delegations[0].Domain)
}

// TestEveryCombination goes through every combination of what the pin differs in,
// what VERSION_LAYERS decides and what PIN_EFFECT names.
func TestEveryCombination(t *testing.T) {
	const p, o = "provider", "operators" // of two lengths
	compiled := declared(p, p, p, p)
	provider := Source{Name: "the provider's", Hash: strings.Repeat("0a", 32), Module: moduleOf(t, compiled)}
	either := func(differs bool) string {
		if differs {
			return o
		}
		return p
	}
	for bits := range 1 << 2 {
		resourcesDiffer, effectsDiffer := bits&1 != 0, bits&2 != 0
		pin := Source{Name: "the pin", Revision: rev, Hash: strings.Repeat("0b", 32), Module: moduleOf(t, declared(o, either(resourcesDiffer), either(effectsDiffer), either(effectsDiffer)))}
		for _, r := range []string{"", Provider, Operator} {
			for _, e := range []string{"", Provider, Operator} {
				for _, named := range []string{"", "dns", "dns,registrars"} {
					t.Run(fmt.Sprintf("differ %t %t, resources=%s effects=%s PIN_EFFECT=%s", resourcesDiffer, effectsDiffer, r, e, named), func(t *testing.T) {
						keys := Keys{Layers: Decision{}}
						if r != "" {
							keys.Layers[resources] = r
						}
						if e != "" {
							keys.Layers[effects] = e
						}
						if named != "" {
							keys.Effect = strings.Split(named, ",")
						}
						choice, err := choose(compiled, provider, &pin, keys)

						var faults []string
						if resourcesDiffer && r == "" {
							faults = append(faults, "the layer resources differs")
						}
						if effectsDiffer && e == "" && named == "" {
							faults = append(faults, "the layer effects differs")
						}
						if e == Provider && named != "" {
							faults = append(faults, "PIN_EFFECT takes "+strings.ReplaceAll(named, ",", ", ")+" from the operator, and VERSION_LAYERS")
						}
						if len(faults) > 0 {
							assert.Equal(t, report.CodeOf(err), report.Usage)
							for _, fault := range faults {
								assert.ErrorContains(t, err, fault)
							}
							assert.Equal(t, strings.Count(err.Error(), "\n"), len(faults)-1)
							if strings.HasPrefix(faults[0], "the layer") {
								assert.Assert(t, cmp.Contains(err.Error(), "provider has tree 0a0a0a0a0a0a0a0a (the provider's), operator has "+rev+" (the pin)"))
							}
							return
						}
						assert.NilError(t, err)
						from := func(operator, differs bool) string { return either(operator && differs) }
						all := e == Operator && named == ""
						want := fmt.Sprintf("machines=%s resources=%s dns=%s registrars=%s", o, from(r == Operator, resourcesDiffer),
							from(all || named != "", effectsDiffer), from(all || named == "dns,registrars", effectsDiffer))
						assert.Equal(t, sides(choice.Group), want)
						recorded(t, choice.Layers, r, e, named)
						assert.Equal(t, sides(compiled), "machines=provider resources=provider dns=provider registrars=provider")
					})
				}
			}
		}
	}
}

// recorded holds what the record says to what was decided.
func recorded(t *testing.T, layers []report.Layer, r, e, named string) {
	t.Helper()
	var got []string
	for _, l := range layers {
		text := l.Layer + " " + l.Side
		if len(l.Effects) > 0 {
			text += " " + strings.Join(l.Effects, ",")
		}
		got = append(got, text)
		assert.Equal(t, l.Revision != "", l.Side == Operator)
		assert.Equal(t, l.Hash[:2], map[string]string{Operator: "0b", Provider: "0a"}[l.Side])
	}
	or := func(side string) string {
		if side == "" {
			return Provider
		}
		return side
	}
	want := []string{"machines operator", "resources " + or(r)}
	switch named {
	case "":
		want = append(want, "effects "+or(e))
	case "dns":
		want = append(want, "effects operator dns", "effects provider registrars")
	default:
		want = append(want, "effects operator dns,registrars")
	}
	assert.DeepEqual(t, got, want)
}

// TestImagesAreMadeOfTheModulesOfTheirLayer has one name for two modules, whose
// sources lie in two folders: the record names the one that they come from.
func TestImagesAreMadeOfTheModulesOfTheirLayer(t *testing.T) {
	group := declared("provider", "provider", "provider", "provider")
	group.Effects = append(group.Effects, "image")
	group.Images = []groups.Image{{Name: "base", Modules: []string{"image.nix"}}}
	group.Source.Name = "baked in"
	provider := Source{Name: "the provider's", Dir: "/srv/provider", Module: moduleOf(t, group)}
	baked := Source{Name: "baked in", Module: moduleOf(t, group)}
	pin := Source{Name: "the pin", Dir: "/srv/pin", Module: moduleOf(t, group)}
	bare := Source{Name: "the pin", Dir: "/srv/pin"} // without module.json
	for _, c := range []struct {
		name     string
		provider Source
		operator *Source
		effects  string
		named    []string
		want     string
	}{
		{"no pin", provider, nil, "", nil, "the provider's /srv/provider"},
		{"what does not differ", provider, &pin, "", nil, "the provider's /srv/provider"},
		{"of the provider", provider, &pin, Provider, nil, "the provider's /srv/provider"},
		{"of the operator", provider, &pin, Operator, nil, "the pin /srv/pin"},
		{"pinned by its name", provider, &pin, "", []string{"image"}, "the pin /srv/pin"},
		{"another pinned", provider, &pin, "", []string{"dns"}, "the provider's /srv/provider"},
		{"another pinned of the operator's", provider, &pin, Operator, []string{"dns"}, "the provider's /srv/provider"},
		{"baked in", baked, &pin, Provider, nil, "baked in "},
		{"a pin that declares nothing", baked, &bare, "", nil, "baked in "},
	} {
		t.Run(c.name, func(t *testing.T) {
			keys := Keys{Layers: Decision{}, Effect: c.named}
			if c.effects != "" {
				keys.Layers[effects] = c.effects
			}
			choice, err := choose(group, c.provider, c.operator, keys)
			assert.NilError(t, err)
			got := choice.Group.ImageSource
			assert.Equal(t, got.Name+" "+got.Dir, c.want)
			for _, l := range choice.Layers {
				if l.Layer == effects && (len(l.Effects) == 0 || strings.Contains(strings.Join(l.Effects, ","), "image")) {
					assert.Equal(t, l.Source, got.Name, "the record says the same")
				}
			}
			machines := c.provider
			if c.operator != nil {
				machines = *c.operator
			}
			assert.Equal(t, choice.Group.Source.Dir, machines.Dir, "machines are the operator's")
			assert.Assert(t, group.ImageSource == nil)
		})
	}
}

func TestWithoutAPinAllIsTheProviders(t *testing.T) {
	compiled := declared("compiled", "provider", "compiled", "compiled")
	provider := Source{Name: "a source", Dir: "/srv/source", Hash: strings.Repeat("0a", 32), Module: moduleOf(t, declared("provider", "operators", "provider", "provider"))}
	for _, decided := range []Decision{nil, {resources: Provider}, {resources: Provider, effects: Provider}} {
		choice, err := choose(compiled, provider, nil, Keys{Layers: decided})
		assert.NilError(t, err)
		assert.Equal(t, sides(choice.Group), "machines=provider resources=operators dns=provider registrars=provider")
		assert.Equal(t, choice.Group.Source.Dir, "/srv/source")
	}
}

func TestDecisionsThatCannotBe(t *testing.T) {
	compiled := declared("provider", "provider", "provider", "provider")
	provider := Source{Name: "ours", Hash: strings.Repeat("0a", 32), Module: moduleOf(t, compiled)}
	bare := Source{Name: "a pin", Dir: "/srv/pin", Hash: strings.Repeat("0b", 32)}
	other := bare
	other.Module = moduleOf(t, groups.Group{Name: "club"})
	less := bare
	less.Module = moduleOf(t, groups.Group{Name: "operator"})
	for _, c := range []struct {
		name string
		pin  *Source
		keys Keys
		want string // empty: it can be
	}{
		{"the operator's side of nothing", nil, Keys{Layers: Decision{resources: Operator}}, "VERSION_LAYERS takes resources from the operator, and OPERATOR_MODULE_SOURCE names no source"},
		{"an effect of nothing", nil, Keys{Effect: []string{"dns"}}, "PIN_EFFECT takes dns from the operator, and OPERATOR_MODULE_SOURCE names no source"},
		{"a pin of modules alone", &bare, Keys{}, ""},
		{"a layer that the pin lacks", &bare, Keys{Layers: Decision{effects: Operator}}, "effects are to come from the operator, whose source has no module.json (a pin)"},
		{"an effect that the pin lacks", &bare, Keys{Effect: []string{"dns"}}, "effects are to come from the operator, whose source has no module.json"},
		{"an effect that there is not", &bare, Keys{Effect: []string{"mail"}}, `PIN_EFFECT names "mail", which is no effect of operator; it has dns, registrars`},
		{"a pin of another group", &other, Keys{}, "module.json of the operator (a pin): it declares no group operator; it has club"},
		{"a pin without the machine", &less, Keys{Layers: Decision{resources: Operator, effects: Operator}}, "resources: it declares no machine web of operator; it has none"},
	} {
		t.Run(c.name, func(t *testing.T) {
			choice, err := choose(compiled, provider, c.pin, c.keys)
			if c.want == "" {
				assert.NilError(t, err)
				assert.Equal(t, choice.Group.Source.Dir, c.pin.Dir)
				assert.Equal(t, sides(choice.Group), sides(compiled))
				return
			}
			assert.Equal(t, report.CodeOf(err), report.Usage)
			assert.ErrorContains(t, err, c.want)
			assert.Assert(t, len(report.Hints(err)) > 0)
		})
	}
}

func TestDecisionsAreRead(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"resources=operator,effects=provider", ""},
		{" effects=operator", ""},
		{"machines=provider", "decides machines, which always come from the operator's module source"},
		{"everything=operator", `has an unknown layer "everything"`},
		{"resources=me", `has an unknown side "me" for resources`},
		{"resources", `has an unknown side "" for resources`},
		{"resources=operator,resources=provider", "decides resources twice"},
	} {
		t.Run(c.text, func(t *testing.T) {
			var d Decision
			err := d.EnvDecode(c.text)
			if c.want == "" {
				assert.NilError(t, err)
				return
			}
			assert.ErrorContains(t, err, c.want)
		})
	}
}
