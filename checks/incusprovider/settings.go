package main

import (
	"context"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/types"
)

// texts are the settings of a plan or a state; nil is one that is null there.
func texts(ctx context.Context, m types.Map) map[string]*string {
	all := map[string]*string{}
	if !m.IsNull() && !m.IsUnknown() {
		_ = m.ElementsAs(ctx, &all, false)
	}
	return all
}

// given are those that are not null.
func given(ctx context.Context, m types.Map) map[string]string {
	all := map[string]string{}
	for name, value := range texts(ctx, m) {
		if value != nil {
			all[name] = *value
		}
	}
	return all
}

// computed are names of settings that a server sets by itself; one that ends in a dot
// is what they begin with.
type computed []string

func (c computed) has(name string) bool {
	for _, own := range c {
		if name == own || strings.HasSuffix(own, ".") && strings.HasPrefix(name, own) {
			return true
		}
	}
	return false
}

// merged are the settings to write: those that are asked for, without the empty ones,
// and what the server set by itself.
func (c computed) merged(there, asked map[string]string) map[string]string {
	all := map[string]string{}
	for name, value := range asked {
		if value != "" {
			all[name] = value
		}
	}
	for name, value := range there {
		if _, ok := asked[name]; !ok && value != "" && c.has(name) {
			all[name] = value
		}
	}
	return all
}

// shown are the settings that are read: all that are there, but for the server's own
// that nobody asked for. One that was asked for empty is not there, so that OpenTofu
// finds another result than was planned.
func (c computed) shown(ctx context.Context, there map[string]string, model types.Map) map[string]*string {
	asked, all := texts(ctx, model), map[string]*string{}
	for name, value := range asked {
		if value == nil {
			all[name] = nil
		}
	}
	for name, value := range there {
		want, ok := asked[name]
		switch {
		case value == "", !ok && c.has(name), ok && want == nil && c.has(name):
		default:
			all[name] = &value
		}
	}
	return all
}
