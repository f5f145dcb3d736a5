package suite

import (
	"fmt"
	"strings"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/groups"
	"fediversity.eu/slipway/targets/report"
)

func converges(w *world) {
	o := w.applied()
	assert.Assert(w, o.changed)
	assert.Equal(w, o.asked["DELETE"]+o.asked["PUT"], 0)

	web := w.vm("web")
	assert.Equal(w, web.at("site", "name"), w.group.Inventory.Site)
	assert.Equal(w, web.at("cluster", "name"), w.group.Inventory.Cluster)
	assert.Equal(w, web.at("role", "name"), w.group.Inventory.Role)
	assert.Equal(w, web.at("platform", "name"), w.group.Inventory.Platform)
	assert.Equal(w, web.at("tenant", "name"), w.group.Inventory.Tenant)
	assert.Equal(w, web.at("primary_ip4", "address"), w.four(1)+"/32")
	assert.Equal(w, web.at("primary_ip6", "address"), w.six(1)+"/128")
	local := w.vm("local")
	assert.Equal(w, fmt.Sprint(local["memory"], local["disk"]), "512 2048")
	assert.Assert(w, local["primary_ip4"] == nil)
	metal := w.one("dcim/devices/", "name", "metal", "tag", w.tag())
	assert.Equal(w, metal.at("device_type", "model"), "Model 1")
	assert.Equal(w, metal.at("primary_ip4", "address"), w.four(3)+"/32")
	eno := w.one("dcim/interfaces/", "device_id", fmt.Sprint(metal.id()))
	assert.Equal(w, eno["name"], "eno1")
	address := w.one("ipam/ip-addresses/", "address", w.four(1))
	assert.Equal(w, address["dns_name"], "web.example.org")
	assert.Equal(w, len(w.find("ipam/services/", "tag", w.tag())), 2)
	assert.Equal(w, w.marked(), 8+4+3+4+2, "scaffold, machines, interfaces, addresses, services")

	w.settled()
}

func renames(w *world) {
	names := []string{
		"NETBOX_TAG=Tag of " + w.group.Name, "NETBOX_SITE=Given " + w.group.Name,
		"NETBOX_TENANT=Given " + w.group.Name, "NETBOX_CLUSTER=Given " + w.group.Name,
	}
	w.applied(names...)
	web := w.one("virtualization/virtual-machines/", "name", "web", "tag", "tag-of-"+w.group.Name)
	for _, field := range []string{"site", "tenant", "cluster"} {
		assert.Equal(w, web.at(field, "name"), "Given "+w.group.Name)
	}
	w.settled(names...)
	o := w.run("destroy", names...)
	assert.NilError(w, o.err)
	for _, path := range []string{"dcim/sites/", "tenancy/tenants/", "virtualization/clusters/"} {
		assert.Equal(w, len(w.find(path, "name", "Given "+w.group.Name)), 0)
	}
	assert.Equal(w, len(w.find("extras/tags/", "slug", "tag-of-"+w.group.Name)), 0)
}

func plans(w *world) {
	o := w.run("plan")
	assert.NilError(w, o.err)
	assert.Equal(w, o.writes(), 0)
	assert.Assert(w, !o.changed)
	contains(w, o.out, "+ virtual machine web\n", "+ device metal\n", "+ address "+w.four(1)+"\n", "22 to create, 0 to change, 0 to delete")
	assert.DeepEqual(w, o.record.Inventory, &report.Objects{Create: 22})
	assert.Equal(w, w.marked(), 0)

	w.applied()
	w.patch("virtualization/virtual-machines/", w.vm("web").id(), object{"status": "offline"})
	w.edit("web", func(a *groups.Asset) { a.Services = nil })
	o = w.run("plan", "DB_ADDRESSES="+w.four(9))
	assert.NilError(w, o.err)
	assert.Equal(w, o.writes(), 0)
	contains(w, o.out,
		"~ virtual machine web\n    status: offline → active\n",
		"~ virtual machine db\n    primary_ip4: "+w.four(2)+"/32 → "+w.four(9)+"\n",
		"+ address "+w.four(9)+"\n", "- address "+w.four(2)+"/32", "- service web https",
		"1 to create, 2 to change, 2 to delete")
	assert.Equal(w, w.vm("web").at("status", "value"), "offline")
}

func repairs(w *world) {
	w.applied()
	web, db := w.vm("web"), w.vm("db")
	w.patch("virtualization/virtual-machines/", web.id(), object{
		"status": "offline", "platform": nil, "primary_ip4": nil, "name": "WEB", "description": "a note of somebody's",
	})
	address := w.one("ipam/ip-addresses/", "address", w.four(2))
	w.patch("ipam/ip-addresses/", address.id(), object{"dns_name": "wrong.example.org", "address": w.four(2) + "/24"})
	service := w.one("ipam/services/", "tag", w.tag(), "name", "https")
	w.patch("ipam/services/", service.id(), changedPorts(service))
	eth := w.one("virtualization/interfaces/", "virtual_machine_id", fmt.Sprint(db.id()))
	w.patch("virtualization/interfaces/", eth.id(), object{"enabled": false})
	w.delete("dcim/interfaces/", w.one("dcim/interfaces/", "tag", w.tag()).id()) // its address goes with it

	o := w.applied()
	assert.Equal(w, o.asked["DELETE"], 0)
	web = w.vm("web")
	assert.Equal(w, web.at("status", "value"), "active")
	assert.Equal(w, web.at("platform", "name"), w.group.Inventory.Platform)
	assert.Equal(w, web.at("primary_ip4", "address"), w.four(1)+"/32")
	assert.Equal(w, web["description"], "a note of somebody's")
	address = w.one("ipam/ip-addresses/", "address", w.four(2))
	assert.Equal(w, address["dns_name"], "db.example.org")
	assert.Equal(w, address["address"], w.four(2)+"/24", "the mask is that of the network")
	assert.Equal(w, fmt.Sprint(w.one("ipam/services/", "name", "https", "tag", w.tag())["ports"]), fmt.Sprint(service["ports"]))
	metal := w.one("dcim/devices/", "name", "metal", "tag", w.tag())
	assert.Equal(w, metal.at("primary_ip4", "address"), w.four(3)+"/32")
	w.settled()
}

// changedPorts gives a service another port, in the form that it has.
func changedPorts(service object) object {
	if service["port_mappings"] != nil {
		return object{"port_mappings": []string{"tcp/8080"}}
	}
	return object{"ports": []int{8080}}
}

func swaps(w *world) {
	w.applied()
	w.applied("WEB_ADDRESSES="+w.four(2)+","+w.six(1), "DB_ADDRESSES="+w.four(1))
	assert.Equal(w, w.vm("web").at("primary_ip4", "address"), w.four(2)+"/32")
	assert.Equal(w, w.vm("db").at("primary_ip4", "address"), w.four(1)+"/32")
	w.settled("WEB_ADDRESSES="+w.four(2)+","+w.six(1), "DB_ADDRESSES="+w.four(1))

	// A machine without an address of its own has lost it to another.
	w.applied("WEB_ADDRESSES="+w.six(1), "DB_ADDRESSES="+w.four(2)+","+w.four(1))
	assert.Assert(w, w.vm("web")["primary_ip4"] == nil)
	assert.Equal(w, w.vm("db").at("primary_ip4", "address"), w.four(2)+"/32")

	w.edit("db", func(a *groups.Asset) { a.Interface = "ens3" })
	w.applied("WEB_ADDRESSES="+w.six(1), "DB_ADDRESSES="+w.four(2)+","+w.four(1))
	eth := w.one("virtualization/interfaces/", "virtual_machine_id", fmt.Sprint(w.vm("db").id()))
	assert.Equal(w, eth["name"], "ens3")
	assert.Equal(w, w.vm("db").at("primary_ip4", "address"), w.four(2)+"/32")
	w.settled("WEB_ADDRESSES="+w.six(1), "DB_ADDRESSES="+w.four(2)+","+w.four(1))
}

func givesUp(w *world) {
	w.applied()
	w.edit("metal", func(a *groups.Asset) { a.Services = nil })
	o := w.applied("WEB_ADDRESSES="+w.four(1), "METAL_ADDRESSES=")
	contains(w, o.log, "deleted address", "deleted interface metal eno1", "deleted service metal ssh")
	assert.Equal(w, len(w.find("ipam/ip-addresses/", "tag", w.tag())), 2)
	assert.Assert(w, w.vm("web")["primary_ip6"] == nil)
	assert.Equal(w, len(w.find("dcim/interfaces/", "tag", w.tag())), 0)
	w.settled("WEB_ADDRESSES="+w.four(1), "METAL_ADDRESSES=")
}

func becomesHardware(w *world) {
	w.applied()
	w.edit("db", func(a *groups.Asset) {
		a.Hardware = groups.Hardware{Manufacturer: "Maker of " + w.group.Name, Model: "Model 2"}
	})
	o := w.applied("NETBOX_PRUNE=true")
	assert.Equal(w, len(w.find("virtualization/virtual-machines/", "name", "db", "tag", w.tag())), 0)
	db := w.one("dcim/devices/", "name", "db", "tag", w.tag())
	assert.Equal(w, db.at("primary_ip4", "address"), w.four(2)+"/32")
	assert.Assert(w, !strings.Contains(o.log, "deleted address"), "it moved")
	w.settled()
}

func prunes(w *world) {
	w.applied()
	w.group.Machines, w.group.Inventory.Assets = w.group.Machines[:1], w.group.Inventory.Assets[:1]
	o := w.applied("DB_ADDRESSES=", "METAL_ADDRESSES=")
	assert.Equal(w, o.writes(), 0)
	contains(w, o.log, "virtual machine db", "device metal", "NETBOX_PRUNE=true deletes it")
	o = w.run("plan", "NETBOX_PRUNE=true")
	contains(w, o.out, "- virtual machine db", "- device metal", "- interface db eth0", "- service metal ssh", "0 to create, 0 to change, 8 to delete")
	w.applied("NETBOX_PRUNE=true")
	assert.Equal(w, len(w.find("virtualization/virtual-machines/", "tag", w.tag())), 1)
	assert.Equal(w, len(w.find("dcim/devices/", "tag", w.tag())), 0)
	assert.Equal(w, len(w.find("ipam/ip-addresses/", "tag", w.tag())), 2)
	w.settled()
}

func sparesCopies(w *world) {
	w.applied()
	tag := w.one("extras/tags/", "slug", w.tag())
	copied := w.make("virtualization/virtual-machines/", object{
		"name": "copy", "cluster": w.vm("web").at("cluster", "id"), "tags": []any{tag["id"]},
	})
	eth := w.make("virtualization/interfaces/", object{"virtual_machine": copied["id"], "name": "eth0", "tags": []any{tag["id"]}})
	o := w.applied()
	assert.Equal(w, o.writes(), 0)
	contains(w, o.log, "virtual machine copy", "NETBOX_PRUNE=true")
	w.whole("virtualization/interfaces/", eth.id())
}
