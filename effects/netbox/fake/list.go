package fake

import (
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// list answers with a page of the objects that the query finds.
func (s *Server) list(path string, r *http.Request) answer {
	query := r.URL.Query()
	limit, offset := 50, 0
	var found []object
	found = append(found, s.objects[path]...)
	for name, values := range query {
		switch name {
		case "limit":
			limit, _ = strconv.Atoi(values[0])
		case "offset":
			offset, _ = strconv.Atoi(values[0])
		case "ordering", "exclude", "omit":
		default:
			keep, fault := s.filter(path, name, values)
			if fault != "" {
				return answer{http.StatusBadRequest, map[string]any{name: []string{fault}}}
			}
			found = slices.DeleteFunc(found, func(o object) bool { return !keep(o) })
		}
	}
	if limit == 0 || limit > s.PageMax {
		limit = s.PageMax
	}
	from := min(offset, len(found))
	to := min(from+limit, len(found))
	results := []any{}
	for _, o := range found[from:to] {
		results = append(results, s.show(path, o))
	}
	page := map[string]any{"count": len(found), "next": nil, "previous": nil, "results": results}
	if to < len(found) {
		query.Set("offset", strconv.Itoa(to))
		// What NetBox believes its address to be.
		page["next"] = (&url.URL{Scheme: "http", Host: "netbox.invalid", Path: r.URL.Path, RawQuery: query.Encode()}).String()
	}
	return answer{http.StatusOK, page}
}

// filter makes a test of a filter, or says what is wrong with it. NetBox passes
// over filters that it doesn't know, which finds far too much; here they are faults.
func (s *Server) filter(path, name string, values []string) (func(object) bool, string) {
	fields := models[path].fields
	field, isID := strings.CutSuffix(name, "_id")
	ids := func(of string, must bool) string {
		for _, value := range values {
			id, err := strconv.Atoi(value)
			if err != nil || must && s.index(of, id) < 0 {
				return fmt.Sprintf("Select a valid choice. %s is not one of the available choices.", value)
			}
		}
		return ""
	}
	in := func(id int) bool { return slices.Contains(values, strconv.Itoa(id)) }
	onInterface := func(kind string) func(object) bool {
		return func(o object) bool { return o["assigned_object_type"] == kind && in(number(o["assigned_object_id"])) }
	}
	switch {
	case name == "tag":
		for _, value := range values {
			if !slices.ContainsFunc(s.objects[tagPath], func(o object) bool { return o["slug"] == value }) {
				return nil, fmt.Sprintf("Select a valid choice. %s is not one of the available choices.", value)
			}
		}
		return func(o object) bool {
			return slices.ContainsFunc(s.tagsOf(o), func(t object) bool { return slices.Contains(values, fmt.Sprint(t["slug"])) })
		}, ""
	case name == "name__ie":
		return func(o object) bool {
			return slices.ContainsFunc(values, func(v string) bool { return strings.EqualFold(v, fmt.Sprint(o["name"])) })
		}, ""
	case path == addressPath && name == "address":
		return func(o object) bool {
			prefix, _ := netip.ParsePrefix(fmt.Sprint(o["address"]))
			return slices.Contains(values, prefix.Addr().String())
		}, ""
	case path == addressPath && name == "interface_id":
		return onInterface("dcim.interface"), ids(interfacePath, true)
	case path == addressPath && name == "vminterface_id":
		return onInterface("virtualization.vminterface"), ids(vmIfacePath, true)
	case path == addressPath && (name == "device_id" || name == "virtual_machine_id"):
		kind := map[string]string{"device_id": "dcim.interface", "virtual_machine_id": "virtualization.vminterface"}[name]
		return func(o object) bool { return o["assigned_object_type"] == kind && in(s.holder(o)) }, ids("", false)
	case path == "ipam/services/" && (name == "device_id" || name == "virtual_machine_id"):
		kind := map[string]string{"device_id": "dcim.device", "virtual_machine_id": "virtualization.virtualmachine"}[name]
		return func(o object) bool { return o["parent_object_type"] == kind && in(number(o["parent_object_id"])) }, ids("", false)
	case fields["scope_id"].generic != "" && (name == "site_id" || name == "site" || name == "cluster"):
		return func(o object) bool {
			return o["scope_type"] == "dcim.site" && strings.HasPrefix(name, "site") && in(number(o["scope_id"]))
		}, ids("", false)
	case isID && fields[field].refers != "":
		return func(o object) bool { return in(number(o[field])) }, ids(fields[field].refers, true)
	case name == "slug" || name == "name":
		return func(o object) bool { return slices.Contains(values, fmt.Sprint(o[name])) }, ""
	}
	return nil, "Unknown filter field"
}

func (s *Server) tagsOf(o object) []object {
	list, _ := o["tags"].([]any)
	var found []object
	for _, id := range list {
		if i := s.index(tagPath, number(id)); i >= 0 {
			found = append(found, s.objects[tagPath][i])
		}
	}
	return found
}

// show tells an object as NetBox does: related objects with their names, choices
// with a label, and how many use it.
func (s *Server) show(path string, o object) any {
	shown := s.brief(path, o)
	for name, f := range models[path].fields {
		value := o[name]
		switch {
		case name == "tags":
			list := []any{}
			for _, t := range s.tagsOf(o) {
				list = append(list, s.brief(tagPath, t))
			}
			value = list
		case f.refers != "" && value != nil:
			value = s.nested(f.refers, number(value))
		case f.generic != "" && value != nil:
			kind, _ := o[f.generic].(string)
			shown[strings.Replace(strings.TrimSuffix(name, "_id"), "parent_object", "parent", 1)] = s.nested(pathOf(kind), number(value))
		case f.choices != nil && value != nil:
			value = map[string]any{"value": value, "label": strings.ToUpper(fmt.Sprint(value))}
		case value == nil && f.most > 0 && f.refers == "" && !strings.HasSuffix(name, "_type"):
			value = ""
		}
		shown[name] = value
	}
	for other, m := range models {
		for name, f := range m.fields {
			counted := f.refers == path && !f.list && !strings.HasPrefix(name, "primary")
			if path == tagPath {
				counted = f.refers == path
			}
			if !counted {
				continue
			}
			count := 0
			for _, one := range s.objects[other] {
				if s.refers(one, name, f, path, number(o["id"])) {
					count++
				}
			}
			if path == tagPath {
				before, _ := shown["tagged_items"].(int)
				shown["tagged_items"] = before + count
				continue
			}
			shown[counters[other]+"_count"] = count
		}
	}
	if path == vmIfacePath || path == interfacePath {
		macs := []any{}
		for _, mac := range s.objects["dcim/mac-addresses/"] {
			if s.refers(mac, "assigned_object_id", models["dcim/mac-addresses/"].fields["assigned_object_id"], path, number(o["id"])) {
				macs = append(macs, s.brief("dcim/mac-addresses/", mac))
			}
		}
		shown["mac_addresses"] = macs
	}
	return shown
}

// counters are the names by which objects of a kind are counted.
var counters = map[string]string{
	sitePath: "site", devicePath: "device", machinePath: "virtualmachine", "virtualization/clusters/": "cluster",
	"dcim/device-types/": "devicetype", interfacePath: "interface", vmIfacePath: "interface",
	"virtualization/virtual-disks/": "virtual_disk", addressPath: "ipaddress", "dcim/locations/": "location",
}

func (s *Server) nested(path string, id int) any {
	if i := s.index(path, id); i >= 0 {
		return s.brief(path, s.objects[path][i])
	}
	return nil
}

func (s *Server) brief(path string, o object) map[string]any {
	display := o["name"]
	for _, name := range []string{"model", "address", "mac_address", "prefix", "ssid"} {
		if o[name] != nil {
			display = o[name]
		}
	}
	b := map[string]any{
		"id": o["id"], "url": fmt.Sprintf("%s/api/%s%d/", s.URL, path, number(o["id"])), "display": display,
		"name": o["name"], "slug": o["slug"], "description": o["description"],
	}
	for _, name := range []string{"model", "address"} {
		if o[name] != nil {
			b[name] = o[name]
		}
	}
	return b
}
