package netbox

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// leftover is an object that bears our tag and is not wanted.
type leftover struct {
	kind *kind
	record
}

func (l leftover) String() string {
	text := l.kind.noun + " "
	switch l.kind {
	case vmInterfaces:
		text += l.shown("virtual_machine") + " "
	case deviceInterfaces:
		text += l.shown("device") + " "
	case services:
		text += l.shown("parent") + " "
	case addresses:
		return text + l.text("address")
	}
	return text + cmp.Or(l.text("name"), l.text("model"))
}

// update is a change of an object that is there, or will be by then.
type update struct {
	*thing
	differences []difference
}

// changes is the way from what NetBox holds to what is wanted.
type changes struct {
	creates   []*thing
	updates   []update // but for primary addresses
	releases  []update // primary addresses that are taken away first
	primaries []update // primary addresses that are given last
	deletes   []leftover
	kept      []leftover // that would be deleted if NETBOX_PRUNE said so
}

// none tells whether NetBox holds what is wanted.
func (c *changes) none() bool {
	return len(c.creates)+len(c.updates)+len(c.releases)+len(c.primaries)+len(c.deletes) == 0
}

// compare finds the way. prune allows to delete machines.
func compare(w *wanted, left []leftover, prune bool) *changes {
	c := &changes{}
	if w.tag.id == 0 {
		c.creates = append(c.creates, w.tag)
	}
	moved := map[string]bool{} // addresses that go from one interface to another, by id
	for _, k := range slices.Concat(scaffold, owned) {
		for _, t := range w.things[k] {
			switch differences := t.differences(); {
			case t.id == 0:
				c.creates = append(c.creates, t)
			case t.ours && len(differences) > 0:
				c.updates = append(c.updates, update{t, differences})
				moves := func(d difference) bool { return strings.HasPrefix(d.field.name, "assigned_object") }
				if slices.ContainsFunc(differences, moves) {
					moved[strconv.Itoa(t.id)] = true
				}
			}
		}
	}
	c.sort(w, left, prune)
	c.address(w, left, moved)
	return c
}

// sort tells what is left over and goes from what stays.
func (c *changes) sort(w *wanted, left []leftover, prune bool) {
	// What hangs on a machine of ours, or on an interface of one, goes. The rest
	// may be a copy that somebody made in NetBox, with our tag.
	owners := map[string]bool{}
	note := func(k *kind, id int) { owners[k.ref+" "+strconv.Itoa(id)] = true }
	for _, k := range []*kind{devices, virtualMachines, deviceInterfaces, vmInterfaces} {
		for _, t := range w.things[k] {
			note(k, t.id)
		}
	}
	for _, l := range left {
		if (l.kind == deviceInterfaces || l.kind == vmInterfaces) && owners[l.owner()] {
			note(l.kind, l.id())
		}
	}
	for _, l := range left {
		if prune || owners[l.owner()] {
			c.deletes = append(c.deletes, l)
		} else {
			c.kept = append(c.kept, l)
		}
	}
}

// owner is what an object hangs on, by kind and id.
func (l leftover) owner() string {
	switch l.kind {
	case deviceInterfaces:
		return devices.ref + " " + l.text("device")
	case vmInterfaces:
		return virtualMachines.ref + " " + l.text("virtual_machine")
	case addresses:
		return l.text("assigned_object_type") + " " + l.text("assigned_object_id")
	case services:
		return l.text("parent_object_type") + " " + l.text("parent_object_id")
	}
	return ""
}

var primaryFields = []string{"primary_ip4", "primary_ip6"}

// address finds which primary addresses change. NetBox moves no address that is
// somebody's primary one, so these are taken away before.
func (c *changes) address(w *wanted, left []leftover, moved map[string]bool) {
	for _, m := range w.machines {
		c.release(m.thing, moved)
		var given []difference
		for _, name := range primaryFields {
			f := field{name: name, want: m.primary[name]}
			if m.primary[name] == nil || f.same(m.found) && !moved[m.found.text(name)] {
				continue
			}
			given = append(given, difference{field: f, old: m.found.shown(name), new: f.shown()})
		}
		if len(given) > 0 {
			c.primaries = append(c.primaries, update{m.thing, given})
		}
	}
	for _, l := range left {
		if l.kind == devices || l.kind == virtualMachines {
			c.release(&thing{kind: l.kind, name: l.text("name"), found: l.record, id: l.id()}, moved)
		}
	}
}

// release takes primary addresses away that go to another interface.
func (c *changes) release(t *thing, moved map[string]bool) {
	var taken []difference
	for _, name := range primaryFields {
		if moved[t.found.text(name)] {
			taken = append(taken, difference{field: field{name: name}, old: t.found.shown(name)})
		}
	}
	if len(taken) > 0 {
		c.releases = append(c.releases, update{t, taken})
	}
}
