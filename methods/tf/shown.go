package tf

import "fediversity.eu/slipway/targets/task"

var _ task.Configured = (*verbTask)(nil)

// Configuration gives what OpenTofu is given, for a person to read.
func (v *verbTask) Configuration() (map[string][]byte, error) {
	w := work{reach: v.reach}
	text, err := configuration(w.id(), v.reach.Deployment.Machine.Name, v.inherent)
	if err != nil {
		return nil, err
	}
	return map[string][]byte{"main.tf.json": text}, nil
}
