package main

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// state is what an instance is doing.
type state struct {
	Status  string          `json:"status"`
	Network map[string]card `json:"network"`
}

// card is a network interface of it.
type card struct {
	Addresses []struct{ Family, Address, Scope string } `json:"addresses"`
	MAC       string                                    `json:"hwaddr"`
	Host      string                                    `json:"host_name"`
}

func (i *instance) state(ctx context.Context, m *instanceModel) (state, error) {
	var s state
	return s, i.server.call(ctx, http.MethodGet, m.path("/state"), m.query(), nil, nil, &s)
}

// address is the first of a family that is of use elsewhere; null where there is none.
func (c card) address(family string) types.String {
	for _, a := range c.Addresses {
		if a.Scope == "global" && a.Family == family {
			return types.StringValue(a.Address)
		}
	}
	return types.StringNull()
}

// card is the interface that the instance is known by: the one that its settings name,
// or the one of which most is known: its peer on the host, its MAC, its addresses.
func (s state) card(named string) card {
	if named != "" {
		return s.Network[named]
	}
	var best string
	most := 0
	for name, c := range s.Network {
		known := 0
		for at, has := range []bool{!c.address("inet6").IsNull(), !c.address("inet").IsNull(), c.MAC != "", c.Host != ""} {
			if has {
				known |= 1 << at
			}
		}
		if name != "lo" && (known > most || known == most && name < best) {
			best, most = name, known
		}
	}
	return s.Network[best]
}

// sync brings a state in line with the server.
func (i *instance) sync(ctx context.Context, m instanceModel, into *tfsdk.State, d *diag.Diagnostics) {
	var there struct {
		Description string                       `json:"description"`
		Type        string                       `json:"type"`
		Status      string                       `json:"status"`
		Location    string                       `json:"location"`
		Arch        string                       `json:"architecture"`
		Ephemeral   bool                         `json:"ephemeral"`
		Profiles    []string                     `json:"profiles"`
		Config      map[string]string            `json:"config"`
		Devices     map[string]map[string]string `json:"devices"`
	}
	err := i.server.call(ctx, http.MethodGet, m.path(), m.query(), nil, nil, &there)
	var now state
	if err == nil {
		now, err = i.state(ctx, &m)
	}
	if errors.Is(err, errAbsent) {
		into.RemoveResource(ctx)
		return
	}
	if err != nil {
		d.AddError("read instance", err.Error())
		return
	}
	config, more := types.MapValueFrom(ctx, types.StringType, ofInstances.shown(ctx, there.Config, m.Config))
	d.Append(more...)
	profiles, more := types.ListValueFrom(ctx, types.StringType, append([]string{}, there.Profiles...))
	d.Append(more...)
	m.Config, m.Profiles, m.Devices = config, profiles, read(there.Devices)
	m.Description, m.Type, m.Status = types.StringValue(there.Description), types.StringValue(there.Type), types.StringValue(there.Status)
	m.Ephemeral, m.Running = types.BoolValue(there.Ephemeral), types.BoolValue(slices.Contains([]string{"Running", "Ready"}, now.Status))
	m.Arch, m.Target = types.StringValue(there.Arch), types.StringValue("")
	if there.Location != "none" {
		m.Target = types.StringValue(there.Location)
	}
	known := now.card(there.Config["user.access_interface"])
	m.IPv4, m.IPv6, m.MAC = known.address("inet"), known.address("inet6"), types.StringNull()
	if known.MAC != "" {
		m.MAC = types.StringValue(known.MAC)
	}
	d.Append(into.Set(ctx, &m)...)
}
