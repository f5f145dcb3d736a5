package source

import (
	"errors"
	"fmt"
	"strings"

	"fediversity.eu/slipway/targets/env"
)

// Keys are the coordinates that say which module sources a run has, and what comes
// from which of them.
type Keys struct {
	Self   Address   `env:"SELF_MODULE_SOURCE" desc:"module source of the provider, instead of the one that is baked into the program"`
	Pin    Address   `env:"OPERATOR_MODULE_SOURCE" desc:"module source that the operator pins: machines come from it, and what VERSION_LAYERS says"`
	Layers Decision  `env:"VERSION_LAYERS" desc:"which side the layers resources and effects come from, where the two module sources differ in them"`
	Effect env.Names `env:"PIN_EFFECT" desc:"effects whose declarations come from the operator's module source, separated by commas; those of the others come from the provider"`
	Agent  env.Path  `env:"SSH_AUTH_SOCK" desc:"socket of an ssh agent that holds keys"`
	Cache  env.Cache
}

// The two sides that a layer may come from.
const (
	Provider = "provider"
	Operator = "operator"
)

// The layers. machines comes from the operator's side where there is one; the
// others are contested where the sides differ in them.
const (
	machines  = "machines"
	resources = "resources"
	effects   = "effects"
)

// imageEffect is the effect whose declarations name NixOS modules.
const imageEffect = "image"

// Decision says for contested layers which side they come from.
type Decision map[string]string

// Valid says what EnvDecode accepts.
func (*Decision) Valid() string {
	return "resources and effects, each with provider or operator, as resources=operator,effects=provider"
}

// EnvDecode takes pairs of a layer and a side.
func (d *Decision) EnvDecode(value string) error {
	decided := Decision{}
	var faults []error
	for pair := range strings.SplitSeq(value, ",") {
		layer, side, _ := strings.Cut(strings.TrimSpace(pair), "=")
		switch {
		case layer == machines:
			faults = append(faults, errors.New("decides machines, which always come from the operator's module source"))
		case layer != resources && layer != effects:
			faults = append(faults, fmt.Errorf("has an unknown layer %q", layer))
		case side != Provider && side != Operator:
			faults = append(faults, fmt.Errorf("has an unknown side %q for %s", side, layer))
		case decided[layer] != "":
			faults = append(faults, fmt.Errorf("decides %s twice", layer))
		default:
			decided[layer] = side
		}
	}
	*d = decided
	return errors.Join(faults...)
}
