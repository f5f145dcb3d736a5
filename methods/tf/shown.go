package tf

import (
	"fediversity.eu/slipway/methods/made"
	"fediversity.eu/slipway/methods/tofu"
	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/task"
)

var _ task.Configured = (*verbTask)(nil)

// Configuration gives what OpenTofu is given, for a person to read. That of a
// machine that is made follows from what is there already, and is not known here.
func (v *verbTask) Configuration() (map[string][]byte, error) {
	if v.made != nil {
		return nil, nil
	}
	w := work{reach: v.reach}
	text, err := configuration(w.id(), v.reach.Deployment.Machine.Name, v.inherent, made.Parts{})
	if err != nil {
		return nil, err
	}
	d := tofu.Deployment{Files: map[string][]byte{"main.tf.json": text}, Vars: map[string]env.Secret{}}
	return d.Files, v.inherent.Add(&d, false)
}
