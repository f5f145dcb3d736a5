package fake

import (
	"fmt"
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// model says what objects of a kind are made of.
type model struct {
	name   string // in references to objects of any kind: "dcim.site"
	fields map[string]field
	unique [][]string // fields that no two objects share, in any case of letters
	check  func(s *Server, o object, faults map[string][]string)
}

// field says what one field may be.
type field struct {
	required bool
	most     int      // characters
	choices  []string // told as value and label
	refers   string   // path of what it refers to, by id
	generic  string   // the field that names what kind it refers to
	cascade  bool     // the object goes with what it refers to
	loses    bool     // the field is emptied when what it refers to goes
	form     *regexp.Regexp
	boolean  bool
	integer  bool
	list     bool
}

var (
	slugForm = regexp.MustCompile(`^[-a-zA-Z0-9_]+$`)
	status   = field{choices: []string{"active", "planned", "offline", "staged", "failed", "reserved", "deprecated"}}
)

const (
	tenantPath    = "tenancy/tenants/"
	sitePath      = "dcim/sites/"
	devicePath    = "dcim/devices/"
	machinePath   = "virtualization/virtual-machines/"
	interfacePath = "dcim/interfaces/"
	vmIfacePath   = "virtualization/interfaces/"
	addressPath   = "ipam/ip-addresses/"
	tagPath       = "extras/tags/"
)

func named(more map[string]field) map[string]field {
	all := map[string]field{
		"name": {required: true, most: 100}, "slug": {required: true, most: 100, form: slugForm},
		"description": {most: 200},
	}
	maps.Copy(all, more)
	return all
}

var bySlug = [][]string{{"name"}, {"slug"}}

// models are all kinds, by path.
var models map[string]*model

func init() { //nolint:gochecknoinits // the models refer to each other
	models = map[string]*model{
		tagPath:               {fields: named(nil), unique: bySlug},
		tenantPath:            {fields: named(nil), unique: bySlug},
		sitePath:              {name: "dcim.site", fields: named(map[string]field{"status": status}), unique: bySlug},
		"dcim/manufacturers/": {fields: named(nil), unique: bySlug},
		"dcim/device-types/": {fields: map[string]field{
			"model": {required: true, most: 100}, "slug": {required: true, most: 100, form: slugForm},
			"manufacturer": {required: true, refers: "dcim/manufacturers/"},
		}, unique: [][]string{{"manufacturer", "model"}, {"manufacturer", "slug"}}},
		"dcim/device-roles/":            {fields: named(map[string]field{"vm_role": {boolean: true}, "color": {most: 6}}), unique: bySlug},
		"dcim/platforms/":               {fields: named(nil), unique: bySlug},
		"virtualization/cluster-types/": {fields: named(nil), unique: bySlug},
		"virtualization/clusters/": {fields: map[string]field{
			"name": {required: true, most: 100}, "type": {required: true, refers: "virtualization/cluster-types/"},
			"status": status, "scope_type": {most: 100}, "scope_id": {generic: "scope_type", cascade: true},
		}, unique: [][]string{{"name"}}},
		devicePath: {name: "dcim.device", fields: map[string]field{
			"name": {most: 64}, "status": status, "role": {required: true, refers: "dcim/device-roles/"},
			"device_type": {required: true, refers: "dcim/device-types/"}, "site": {required: true, refers: sitePath},
			"tenant": {refers: tenantPath}, "platform": {refers: "dcim/platforms/", loses: true}, "description": {most: 200},
			"primary_ip4": {refers: addressPath, loses: true}, "primary_ip6": {refers: addressPath, loses: true},
		}, unique: [][]string{{"site", "tenant", "name"}}, check: checkPrimary},
		machinePath: {name: "virtualization.virtualmachine", fields: map[string]field{
			"name": {required: true, most: 64}, "status": status, "role": {refers: "dcim/device-roles/"},
			"site": {refers: sitePath}, "cluster": {refers: "virtualization/clusters/"}, "tenant": {refers: tenantPath},
			"platform": {refers: "dcim/platforms/", loses: true}, "memory": {integer: true}, "disk": {integer: true},
			"description": {most: 200},
			"primary_ip4": {refers: addressPath, loses: true}, "primary_ip6": {refers: addressPath, loses: true},
		}, unique: [][]string{{"cluster", "tenant", "name"}}, check: checkMachine},
		interfacePath: {name: "dcim.interface", fields: map[string]field{
			"device": {required: true, refers: devicePath, cascade: true}, "name": {required: true, most: 64},
			"enabled": {boolean: true}, "type": {required: true, choices: []string{"other", "virtual", "1000base-t"}},
		}, unique: [][]string{{"device", "name"}}},
		vmIfacePath: {name: "virtualization.vminterface", fields: map[string]field{
			"virtual_machine": {required: true, refers: machinePath, cascade: true}, "name": {required: true, most: 64},
			"enabled": {boolean: true},
		}, unique: [][]string{{"virtual_machine", "name"}}},
		"dcim/mac-addresses/": {fields: map[string]field{
			"mac_address": {required: true}, "assigned_object_type": {most: 100},
			"assigned_object_id": {generic: "assigned_object_type", cascade: true},
		}},
		addressPath: {fields: map[string]field{
			"address": {required: true}, "status": status, "dns_name": {most: 255}, "tenant": {refers: tenantPath},
			"assigned_object_type": {most: 100}, "assigned_object_id": {generic: "assigned_object_type", cascade: true},
			"description": {most: 200},
		}, check: checkAddress},
		"ipam/services/": {fields: map[string]field{
			"name": {required: true, most: 100}, "port_mappings": {list: true}, "protocol": {choices: []string{"tcp", "udp", "sctp"}},
			"ports": {list: true}, "parent_object_type": {required: true, most: 100},
			"parent_object_id": {required: true, generic: "parent_object_type", cascade: true},
		}, check: checkService},
		"virtualization/virtual-disks/": {fields: map[string]field{
			"virtual_machine": {required: true, refers: machinePath, cascade: true}, "name": {required: true}, "size": {integer: true},
		}},
		"dcim/locations/":         {fields: named(map[string]field{"site": {required: true, refers: sitePath, cascade: true}})},
		"ipam/prefixes/":          {fields: map[string]field{"prefix": {required: true}, "scope_type": {}, "scope_id": {generic: "scope_type", cascade: true}}},
		"ipam/vlan-groups/":       {fields: named(map[string]field{"scope_type": {}, "scope_id": {generic: "scope_type", cascade: true}})},
		"wireless/wireless-lans/": {fields: map[string]field{"ssid": {required: true}, "scope_type": {}, "scope_id": {generic: "scope_type", cascade: true}}},
	}
	for path, m := range models {
		if path != tagPath {
			m.fields["tags"] = field{refers: tagPath, list: true}
		}
	}
}

// pathOf gives the path of a kind that a reference names.
func pathOf(name string) string {
	for path, m := range models {
		if m.name != "" && m.name == name {
			return path
		}
	}
	return ""
}

// checkPrimary: a primary address is on an interface of the machine.
func checkPrimary(s *Server, o object, faults map[string][]string) {
	for _, name := range []string{"primary_ip4", "primary_ip6"} {
		id := number(o[name])
		if id == 0 {
			continue
		}
		address := s.objects[addressPath][s.index(addressPath, id)]
		prefix, _ := netip.ParsePrefix(address["address"].(string)) //nolint:forcetypeassert // checkAddress saw to it
		if prefix.Addr().Is4() != (name == "primary_ip4") {
			faults[name] = append(faults[name], fmt.Sprintf("%s is not of that family.", prefix))
		}
		if s.holder(address) != number(o["id"]) {
			faults[name] = append(faults[name], fmt.Sprintf("The specified IP address (%s) is not assigned to this machine.", prefix))
		}
	}
}

// holder is the machine of the interface that an address is assigned to.
func (s *Server) holder(address object) int {
	path, whole := vmIfacePath, "virtual_machine"
	if address["assigned_object_type"] == "dcim.interface" {
		path, whole = interfacePath, "device"
	}
	if i := s.index(path, number(address["assigned_object_id"])); i >= 0 {
		return number(s.objects[path][i][whole])
	}
	return 0
}

// checkMachine: a virtual machine is in the site of its cluster, and its disk is
// as large as its disks.
func checkMachine(s *Server, o object, faults map[string][]string) {
	checkPrimary(s, o, faults)
	if number(o["cluster"]) == 0 && number(o["site"]) == 0 {
		faults["cluster"] = []string{"A virtual machine must be assigned to a site and/or cluster."}
		return
	}
	if i := s.index("virtualization/clusters/", number(o["cluster"])); i >= 0 {
		site := number(s.objects["virtualization/clusters/"][i]["scope_id"])
		switch own := number(o["site"]); {
		case own == 0:
			o["site"] = site
		case site != 0 && own != site:
			faults["cluster"] = []string{"The selected cluster is not assigned to this site."}
		}
	}
	size := 0
	for _, disk := range s.objects["virtualization/virtual-disks/"] {
		if number(disk["virtual_machine"]) == number(o["id"]) {
			size += number(disk["size"])
		}
	}
	if size > 0 && number(o["disk"]) != size {
		faults["disk"] = []string{fmt.Sprintf("The specified disk size (%d) must match the aggregate size of assigned virtual disks (%d).", number(o["disk"]), size)}
	}
}

// checkAddress: an address is there once, and nobody's primary one goes to
// another interface.
func checkAddress(s *Server, o object, faults map[string][]string) {
	text, _ := o["address"].(string)
	prefix, err := netip.ParsePrefix(text)
	if err != nil {
		faults["address"] = []string{"Invalid IP address format: " + text}
		return
	}
	if name, ok := o["dns_name"].(string); ok {
		o["dns_name"] = strings.ToLower(name)
	}
	assigned := number(o["assigned_object_id"]) != 0
	bits := prefix.Addr().BitLen() - prefix.Bits()
	if assigned && bits > 1 && prefix.Masked().Addr() == prefix.Addr() {
		faults["address"] = []string{fmt.Sprintf("%s is a network ID, which may not be assigned to an interface.", prefix.Addr())}
	}
	for _, other := range s.objects[addressPath] {
		theirs, _ := netip.ParsePrefix(other["address"].(string)) //nolint:forcetypeassert // as above
		if number(other["id"]) != number(o["id"]) && theirs.Addr() == prefix.Addr() {
			faults["address"] = append(faults["address"], "Duplicate IP address found in global table: "+theirs.String())
		}
		if number(other["id"]) == number(o["id"]) && s.holder(other) != s.holder(o) && s.isPrimary(number(o["id"])) {
			faults["__all__"] = []string{"Cannot reassign IP address while it is designated as the primary IP for the parent object"}
		}
	}
}

func (s *Server) isPrimary(id int) bool {
	return slices.ContainsFunc(slices.Concat(s.objects[machinePath], s.objects[devicePath]), func(o object) bool {
		return number(o["primary_ip4"]) == id || number(o["primary_ip6"]) == id
	})
}

// checkService: 4.7 has ports with their protocols, before there was one protocol
// a service.
func checkService(s *Server, o object, faults map[string][]string) {
	var mappings []string
	if s.Version >= "4.7" {
		list, _ := o["port_mappings"].([]any)
		for _, one := range list {
			mappings = append(mappings, fmt.Sprint(one))
		}
		if len(mappings) == 0 {
			faults["port_mappings"] = []string{"This field is required."}
		}
	} else {
		if o["port_mappings"] != nil {
			delete(o, "port_mappings") // unknown fields are passed over in silence
		}
		list, _ := o["ports"].([]any)
		for _, one := range list {
			mappings = append(mappings, fmt.Sprintf("%v/%d", o["protocol"], number(one)))
		}
		if len(mappings) == 0 || o["protocol"] == nil {
			faults["ports"] = []string{"This field is required."}
		}
	}
	for _, mapping := range mappings {
		protocol, port, _ := strings.Cut(mapping, "/")
		n, err := strconv.Atoi(port)
		if !slices.Contains([]string{"tcp", "udp", "sctp"}, protocol) || err != nil || n < 1 || n > 65535 {
			faults["port_mappings"] = append(faults["port_mappings"], fmt.Sprintf("%q is no mapping.", mapping))
		}
	}
}
