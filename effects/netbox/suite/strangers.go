package suite

import (
	"fmt"
	"strings"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/groups"
	"fediversity.eu/slipway/targets/report"
)

func stopsAtStrangers(w *world) {
	inventory := w.group.Inventory
	kind := w.make("virtualization/cluster-types/", object{"name": inventory.ClusterType, "slug": strings.ToLower(strings.ReplaceAll(inventory.ClusterType, " ", "-"))})
	cluster := w.make("virtualization/clusters/", object{"name": inventory.Cluster, "type": kind["id"]})
	site := w.make("dcim/sites/", object{"name": "elsewhere " + w.group.Name, "slug": "elsewhere-" + w.group.Name})
	tenant := w.make("tenancy/tenants/", object{"name": inventory.Tenant, "slug": strings.ToLower(strings.ReplaceAll(inventory.Tenant, " ", "-"))})
	other := w.make("virtualization/virtual-machines/", object{"name": "WEB", "cluster": cluster["id"], "site": site["id"], "tenant": tenant["id"]})
	eth := w.make("virtualization/interfaces/", object{"virtual_machine": other["id"], "name": "eth0"})
	address := w.make("ipam/ip-addresses/", object{
		"address": w.four(2) + "/24", "assigned_object_type": "virtualization.vminterface", "assigned_object_id": eth["id"],
	})
	w.patch("virtualization/virtual-machines/", other.id(), object{"primary_ip4": address["id"]})
	before := w.whole("virtualization/virtual-machines/", other.id()) + w.whole("ipam/ip-addresses/", address.id())
	for _, verb := range []string{"plan", "apply"} {
		o := w.run(verb)
		assert.Equal(w, o.code, report.Refused)
		assert.Equal(w, o.writes(), 0)
		contains(w, o.err.Error(),
			fmt.Sprintf("virtual machine web: it is there already (id %d), without the tag %s", other.id(), w.tag()),
			fmt.Sprintf("address %s: it is there already (id %d, of eth0)", w.four(2), address.id()))
		contains(w, o.hints, "give it the tag "+w.tag())
	}
	assert.Equal(w, w.whole("virtualization/virtual-machines/", other.id())+w.whole("ipam/ip-addresses/", address.id()), before)
	assert.Equal(w, w.marked(), 0)
}

func usesStrangers(w *world) {
	site := w.make("dcim/sites/", object{"name": w.group.Inventory.Site, "slug": "site-of-" + w.group.Name, "status": "planned", "description": "theirs"})
	role := w.make("dcim/device-roles/", object{"name": "another name", "slug": "role-of-" + w.group.Name, "color": "00ff00"})
	before := w.whole("dcim/sites/", site.id()) + w.whole("dcim/device-roles/", role.id())
	w.applied()
	assert.Equal(w, w.vm("web").at("site", "id"), site["id"])
	w.settled()
	destroyed(w)
	assert.Equal(w, w.whole("dcim/sites/", site.id())+w.whole("dcim/device-roles/", role.id()), before)
}

func refusesTags(w *world) {
	tag := w.make("extras/tags/", object{"name": w.tag(), "slug": w.tag(), "description": "Made and kept by Slipway for the group " + w.group.Name + "2"})
	site := w.make("dcim/sites/", object{"name": w.group.Inventory.Site, "slug": "site-of-" + w.group.Name, "tags": []any{tag["id"]}})
	for _, verb := range []string{"plan", "apply", "destroy"} {
		o := w.run(verb)
		assert.Equal(w, o.code, report.Refused)
		assert.Equal(w, o.writes(), 0)
		contains(w, o.err.Error(), "tag "+w.tag(), "may be somebody else's")
		contains(w, o.hints, "NETBOX_TAG")
	}
	w.whole("dcim/sites/", site.id())

	// Somebody has handed it over, and added a word.
	w.patch("extras/tags/", tag.id(), object{"description": "Made and kept by Slipway for the group " + w.group.Name + " since May"})
	w.applied()
	destroyed(w)
}

func guards(w *world) {
	w.applied()
	web, db := w.vm("web"), w.vm("db")
	eth := w.one("virtualization/interfaces/", "virtual_machine_id", fmt.Sprint(web.id()))
	address := w.make("ipam/ip-addresses/", object{
		"address": w.four(77) + "/32", "assigned_object_type": "virtualization.vminterface", "assigned_object_id": eth["id"],
	})
	disk := w.make("virtualization/virtual-disks/", object{"virtual_machine": db["id"], "name": "data", "size": 10})
	mac := w.make("dcim/mac-addresses/", object{
		"mac_address": fmt.Sprintf("02:00:00:00:00:%02x", w.number), "assigned_object_type": "virtualization.vminterface", "assigned_object_id": eth["id"],
	})
	service := w.make("ipam/services/", w.service(object{"name": "theirs", "parent_object_type": "virtualization.virtualmachine", "parent_object_id": web["id"]}))
	count := w.marked()
	o := w.run("destroy")
	assert.Equal(w, o.code, report.Refused)
	assert.Equal(w, o.writes(), 0)
	contains(w, o.err.Error(), fmt.Sprintf("(id %d) would go with it, and lacks the tag", address.id()), "virtual_disk_count 1", "MAC addresses",
		fmt.Sprintf("(id %d) would go with it", service.id()))
	assert.Equal(w, w.marked(), count)

	// The same holds for what is no longer wanted.
	w.edit("web", func(a *groups.Asset) { a.Interface = "ens3" })
	o = w.run("apply")
	assert.Equal(w, o.code, report.Refused)
	assert.Equal(w, o.writes(), 0)
	contains(w, o.err.Error(), "interface web eth0: ")

	w.delete("ipam/ip-addresses/", address.id())
	w.delete("virtualization/virtual-disks/", disk.id())
	w.delete("dcim/mac-addresses/", mac.id())
	w.delete("ipam/services/", service.id())
	destroyed(w)
}

// service completes a service with a port, in the form that this NetBox has.
func (w *world) service(o object) object {
	existing := w.find("ipam/services/", "tag", w.tag())
	if existing[0]["port_mappings"] != nil {
		o["port_mappings"] = []string{"tcp/9"}
	} else {
		o["protocol"], o["ports"] = "tcp", []int{9}
	}
	return o
}

// destroyed runs destroy, which must leave nothing.
func destroyed(w *world) {
	w.Helper()
	o := w.run("destroy")
	assert.NilError(w, o.err)
	assert.Equal(w, w.marked(), 0)
}

func destroys(w *world) {
	beside := w.make("ipam/ip-addresses/", object{"address": w.four(50) + "/32"})
	before := w.whole("ipam/ip-addresses/", beside.id())
	w.applied()
	o := w.run("destroy")
	assert.NilError(w, o.err)
	assert.Assert(w, o.changed)
	assert.Equal(w, o.asked["POST"]+o.asked["PATCH"], 0)
	assert.Equal(w, len(w.find("extras/tags/", "slug", w.tag())), 0)
	assert.Equal(w, len(w.find("dcim/sites/", "name", w.group.Inventory.Site)), 0)
	assert.Equal(w, w.whole("ipam/ip-addresses/", beside.id()), before)
	o = w.run("destroy")
	assert.NilError(w, o.err)
	assert.Equal(w, o.writes(), 0)
	contains(w, o.log, "nothing to delete")
}

func sparesUsed(w *world) {
	w.applied()
	site := w.one("dcim/sites/", "name", w.group.Inventory.Site)
	platform := w.one("dcim/platforms/", "name", w.group.Inventory.Platform)
	kind := w.make("virtualization/cluster-types/", object{"name": "theirs " + w.group.Name, "slug": "theirs-" + w.group.Name})
	cluster := w.make("virtualization/clusters/", object{"name": "theirs " + w.group.Name, "type": kind["id"], "scope_type": "dcim.site", "scope_id": site["id"]})
	other := w.make("virtualization/virtual-machines/", object{"name": "theirs", "cluster": cluster["id"], "platform": platform["id"]})
	before := w.whole("virtualization/clusters/", cluster.id()) + w.whole("virtualization/virtual-machines/", other.id())
	o := w.run("destroy")
	assert.NilError(w, o.err)
	contains(w, o.log, "site "+w.group.Inventory.Site+" stays: it is in use", "platform "+w.group.Inventory.Platform+" stays", "tag "+w.tag()+" stays: 2 objects bear it")
	assert.Equal(w, w.whole("virtualization/clusters/", cluster.id())+w.whole("virtualization/virtual-machines/", other.id()), before)
	assert.Equal(w, w.marked(), 2)
	w.forget()
	destroyed(w)
}
