package groups

import (
	"testing"

	"gotest.tools/v3/assert"
)

func TestInventoryIsChecked(t *testing.T) {
	machines := []Machine{{Name: "web", Placement: External{}}, {Name: "metal", Placement: External{}}, {Name: "local", Placement: Local{}}}
	hardware := Hardware{Manufacturer: "Maker", Model: "Model"}
	whole := func() Inventory {
		return Inventory{Site: "here", Cluster: "main", ClusterType: "Incus", Role: "server", Assets: []Asset{{Machine: "metal", Hardware: hardware}}}
	}
	for _, c := range []struct {
		name   string
		change func(*Inventory)
		want   string
	}{
		{"all is well", func(*Inventory) {}, ""},
		{"no site", func(i *Inventory) { i.Site = "" }, "no site"},
		{"no role", func(i *Inventory) { i.Role = "" }, `machine "web": no role`},
		{"no cluster", func(i *Inventory) { i.Cluster = "" }, `machine "local": virtual, and there is no cluster`},
		{"hardware that Slipway boots", func(i *Inventory) { i.Assets[0].Machine = "local" }, `machine "local": Slipway boots it`},
		{"half of a hardware", func(i *Inventory) { i.Assets[0].Hardware.Model = "" }, "both a manufacturer and a model"},
		{"an asset twice", func(i *Inventory) { i.Assets = append(i.Assets, i.Assets[0]) }, `machine "metal": described twice`},
		{"an asset of nobody", func(i *Inventory) { i.Assets[0].Machine = "other" }, `machine "other": not a machine of the group`},
		{"a service without ports", func(i *Inventory) { i.Assets[0].Services = []Service{{Name: "x"}} }, "no port"},
		{"a service of a wrong port", func(i *Inventory) { i.Assets[0].Services = []Service{{Name: "x", Ports: []string{"tcp/070"}}} }, `port "tcp/070"`},
		{"a service of a wrong protocol", func(i *Inventory) { i.Assets[0].Services = []Service{{Name: "x", Ports: []string{"http/80"}}} }, `port "http/80"`},
		{"a service twice", func(i *Inventory) {
			i.Assets[0].Services = []Service{{Name: "x", Ports: []string{"tcp/1"}}, {Name: "X", Ports: []string{"tcp/2"}}}
		}, "there twice"},
	} {
		t.Run(c.name, func(t *testing.T) {
			i := whole()
			c.change(&i)
			err := i.Check(machines)
			if c.want == "" {
				assert.NilError(t, err)
				return
			}
			assert.ErrorContains(t, err, c.want)
		})
	}
}

func TestInventoryFillsInDefaults(t *testing.T) {
	i := Inventory{Role: "server", Assets: []Asset{{Machine: "web", Interface: "ens3"}}}
	assert.Equal(t, i.PlatformName(), "NixOS")
	assert.Equal(t, i.Asset("web").Interface, "ens3")
	assert.Equal(t, i.Asset("web").Role, "server")
	assert.Equal(t, i.Asset("db").Interface, "eth0")
	assert.Assert(t, i.Virtual(Machine{Name: "db"}))
}
