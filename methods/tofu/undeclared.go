package tofu

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-exec/tfexec"

	"fediversity.eu/slipway/methods/tofu/state"
	"fediversity.eu/slipway/targets/report"
)

// Declared is what a configuration declares.
type Declared struct {
	resources map[string]bool // "type.name"
	providers map[string]bool // that it configures, by their local names
}

// Declares reads a configuration whose files are all in JSON (OpenTofu
// documentation, "JSON Configuration Syntax").
func Declares(files map[string][]byte) (*Declared, error) {
	d := &Declared{resources: map[string]bool{}, providers: map[string]bool{}}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if path.Dir(name) != "." || !strings.HasSuffix(name, ".tf.json") {
			continue // of the providers, beside it
		}
		var file struct {
			Resource map[string]map[string]json.RawMessage `json:"resource"`
			Provider map[string]json.RawMessage            `json:"provider"`
		}
		if err := json.Unmarshal(files[name], &file); err != nil {
			return nil, fmt.Errorf("read the configuration %s: %w", name, err)
		}
		for kind, named := range file.Resource {
			for label := range named {
				d.resources[kind+"."+label] = true
			}
		}
		for local := range file.Provider {
			d.providers[local] = true
		}
	}
	return d, nil
}

// has tells whether an object of the state is declared.
func (d *Declared) has(address string) bool {
	resource, _, _ := strings.Cut(address, "[")
	return d.resources[resource]
}

// removes tells whether the provider of an object is configured, without which
// nothing can be done about it. Its name is the first word of the object's type.
func (d *Declared) removes(address string) bool {
	local, _, _ := strings.Cut(address, "_")
	return d.providers[local]
}

// targets keep a plan to what is declared.
func (d *Declared) targets() []tfexec.PlanOption {
	var all []tfexec.PlanOption
	for _, resource := range slices.Sorted(maps.Keys(d.resources)) {
		all = append(all, tfexec.Target(resource))
	}
	return all
}

// undeclared are the objects of a state that nothing declares any more and that the
// caller lets go: to be forgotten, and to be removed.
type undeclared struct{ forget, remove []string }

// undeclared finds them. One that the caller says nothing of is refused: what it
// holds would be lost by an omission.
func (e *Engine) undeclared(d Deployment, s *state.State, verb string) (undeclared, error) {
	var u undeclared
	if d.Declared == nil {
		return u, nil
	}
	if other := stranger(s, d.Core); other != "" {
		return u, report.Refuse("use the state", fmt.Errorf("it is the state of %s, and this program deploys %s", other, d.Name),
			"nothing was changed; TF_HTTP_ADDRESS must be the address of this deployment's own state")
	}
	if verb == Import {
		return u, nil // it takes one object in, and lets none go
	}
	var held, faults []string
	for _, address := range s.Objects() {
		forget, remove := slices.Contains(e.Keys.Forget, address), slices.Contains(e.Keys.Remove, address)
		switch declared := d.Declared.has(address); {
		case declared && (forget || remove):
			faults = append(faults, address+" is declared, and would be made again")
		case declared:
		case forget && remove:
			faults = append(faults, address+" is named by STATE_FORGET and by STATE_REMOVE")
		case forget:
			u.forget = append(u.forget, address)
		case remove && !d.Declared.removes(address):
			faults = append(faults, address+" can't be removed from here: nothing says where it is; STATE_FORGET="+address+" leaves it")
		case remove && verb == Destroy && s.Stays(address):
			faults = append(faults, address+" was declared to stay, which destroy obeys: let apply remove it first, or say STATE_FORGET="+address)
		case remove:
			u.remove = append(u.remove, address)
		default:
			held = append(held, address)
		}
	}
	if len(faults) > 0 {
		return u, report.Refuse("let go of what is not declared", errors.New(strings.Join(faults, "; ")), "nothing was changed")
	}
	if len(held) == 0 {
		return u, nil
	}
	all := strings.Join(held, ",")
	hint := "nothing was changed. Declare it again; or say STATE_FORGET=" + all + " to leave it where it is, in no state"
	if slices.ContainsFunc(held, d.Declared.removes) {
		removable := slices.DeleteFunc(slices.Clone(held), func(address string) bool { return !d.Declared.removes(address) })
		hint += "; or STATE_REMOVE=" + strings.Join(removable, ",") + " to remove it, with all it holds"
	}
	return u, report.Refuse("go on from the state", fmt.Errorf("it holds what nothing declares any more: %s", listed(held)), hint)
}

// stranger is whose state it is, if it is another's; it goes by the type of the core.
func stranger(s *state.State, core string) string {
	kind, _, _ := strings.Cut(core, ".")
	for _, r := range s.Resources {
		if address := r.Type + "." + r.Name; r.Type == kind && address != core && len(r.Instances) > 0 {
			if id, ok := r.Instances[0].ID(); ok {
				return id
			}
			return address
		}
	}
	return ""
}

// removalsFile has what is to be removed, also what was declared to stay.
const removalsFile = "slipway_removed.tf.json"

// with adds the removals to a deployment.
func (u undeclared) with(d Deployment) (Deployment, error) {
	if len(u.remove) == 0 {
		return d, nil
	}
	var removed []map[string]any
	for _, address := range u.remove {
		resource, _, _ := strings.Cut(address, "[") // a removed block names no instance
		removed = append(removed, map[string]any{"from": resource, "lifecycle": map[string]bool{"destroy": true}})
	}
	text, err := json.Marshal(map[string]any{"removed": removed})
	d.Files = maps.Clone(d.Files)
	d.Files[removalsFile] = text
	return d, err
}

// forget takes objects out of the state that a workshop has.
func (w *workshop) forget(ctx context.Context, u undeclared) error {
	for _, address := range u.forget {
		w.log.Infof("forgetting %s: it stays where it is", address)
		err := w.run(ctx, "forget "+address, func(ctx context.Context) error {
			return w.tf.StateRm(ctx, address, tfexec.Lock(false))
		}, nil)
		if err != nil {
			return err
		}
	}
	return nil
}
