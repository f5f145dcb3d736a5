package tf

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"

	"github.com/hashicorp/terraform-exec/tfexec"

	"fediversity.eu/slipway/methods/made"
	"fediversity.eu/slipway/methods/tofu"
	"fediversity.eu/slipway/methods/tofu/inherent"
	"fediversity.eu/slipway/methods/tofu/ledger"
	"fediversity.eu/slipway/methods/tofu/provider"
	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/task"
)

// object is a JSON object of the configuration.
type object map[string]any

// outputs are what the state tells of the machine.
var outputs = []string{"address", "generation", "toplevel", "verdict"}

// configuration is what OpenTofu gets for a machine. What differs from run to run
// comes in by variables, so that one prepared folder serves all runs. What is own
// to the machine is there before it; parts are those of a machine that is made.
func configuration(id, machine string, own *inherent.State, parts made.Parts) ([]byte, error) {
	providers := own.Providers()
	providers[providerName] = object{"source": providerAddress}
	for name, p := range parts.Requires {
		providers[name] = p
	}
	shown := object{}
	for _, name := range outputs {
		shown[name] = object{"value": fmt.Sprintf("${%s.%s.%s}", machineType, machine, name)}
	}
	resource := object{
		"name": id, "toplevel": "${var.toplevel}", "address": "${var.address}", "host_keys": "${var.host_keys}",
	}
	if parts.Touched != "" {
		resource["made"] = parts.Touched
	}
	if needs := own.Addresses(); len(needs) > 0 {
		resource["depends_on"] = needs
	}
	return json.Marshal(object{
		"terraform": object{"required_providers": providers},
		"variable": object{
			"toplevel":  object{"type": "string", "default": ""},
			"address":   object{"type": "string", "default": nil},
			"host_keys": object{"type": "list(string)", "default": nil},
		},
		"resource": object{machineType: object{machine: resource}},
		"output":   shown,
	})
}

// deployment is what OpenTofu is to bring about, with the provider that does it.
func (v *verbTask) deployment(ctx context.Context, run *task.Run, w *work) (tofu.Deployment, func(), error) {
	d := tofu.Deployment{
		Name: w.id(), Vars: map[string]env.Secret{},
		// Making a machine again is deploying to the one that is there.
		Adopts: func(o ledger.Object) bool { return o.Type == machineType },
		Stays:  inherent.Stays,
	}
	var parts made.Parts
	if v.made != nil {
		var err error
		if parts, err = v.made.Parts(ctx, run, v.verb); err != nil {
			return d, nil, err
		}
		d.Mirror = parts.Mirror
		d.Stays = func(kind string) bool { return inherent.Stays(kind) || parts.Stays(kind) }
		maps.Copy(d.Vars, parts.Vars)
		d.Adopts = func(o ledger.Object) bool { return o.Type == machineType || parts.Adopts(o) }
	}
	text, err := configuration(w.id(), w.reach.Deployment.Machine.Name, v.inherent, parts)
	if err != nil {
		return d, nil, err
	}
	d.Files = map[string][]byte{"main.tf.json": text}
	maps.Copy(d.Files, parts.Files)
	if err := v.inherent.Add(&d, v.speaks()); err != nil {
		return d, nil, err
	}
	d.Keeps = d.Keeps || parts.Keeps
	d.Core = machineType + "." + w.reach.Deployment.Machine.Name
	if d.Declared, err = tofu.Declares(d.Files); err != nil {
		return d, nil, err
	}
	if v.builds() {
		d.Vars["toplevel"] = env.NewSecret(w.built.Toplevel)
	}
	if v.looks() && !w.finds() {
		there, err := v.reach.Way.Find(ctx, run)
		if err != nil {
			return d, nil, err
		}
		keys, err := json.Marshal(there.Target.HostKeys)
		if err != nil {
			return d, nil, err
		}
		d.Vars["address"], d.Vars["host_keys"] = env.NewSecret(addressOf(there.Target)), env.NewSecret(string(keys))
	}
	served, err := provider.Serve(ctx, providerAddress, w.server())
	if err != nil {
		return d, nil, err
	}
	d.Providers = map[string]tfexec.ReattachConfig{providerAddress: served.Config}
	return d, served.Close, nil
}
