package netbox

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// thing is an object that NetBox is to hold.
type thing struct {
	kind   *kind
	name   string // for people: "web", "web eth0", "192.0.2.5"
	fields []field
	found  record // nil while NetBox has none
	ours   bool   // the one that was found bears our tag
	id     int    // 0 while NetBox has none
}

// field is what one field of a thing is to be.
type field struct {
	name string
	want any // string, int, bool, []string, []int, or a *thing that it refers to
	// once says that it is written when the thing is created, and then left to
	// others.
	once bool
}

func (t *thing) String() string { return t.kind.noun + " " + t.name }

// key identifies the thing, as kind.key does a record. It is "" while what the
// thing is part of does not exist.
func (t *thing) key() string {
	r := record{}
	for _, f := range t.fields {
		if part, ok := f.want.(*thing); ok && part.id == 0 {
			if f.name == "device" || f.name == "virtual_machine" || f.name == "parent_object_id" {
				return ""
			}
		}
		r[f.name] = f.text()
	}
	return t.kind.key(r)
}

// text is what a field of the thing is to be, as plain writes that of a record.
func (t *thing) text(name string) string {
	for _, f := range t.fields {
		if f.name == name {
			return f.text()
		}
	}
	return ""
}

// text is the field's value as plain writes that of a record.
func (f field) text() string {
	switch want := f.want.(type) {
	case nil:
		return ""
	case *thing:
		if want.id == 0 {
			return ""
		}
		return strconv.Itoa(want.id)
	case []string:
		return inOrder(want)
	case []int:
		words := make([]string, len(want))
		for i, n := range want {
			words[i] = strconv.Itoa(n)
		}
		return inOrder(words)
	}
	return fmt.Sprint(f.want)
}

// shown is what a person reads of the field.
func (f field) shown() string {
	if t, ok := f.want.(*thing); ok {
		return t.name
	}
	return f.text()
}

// value is what is sent to NetBox.
func (f field) value() any {
	if t, ok := f.want.(*thing); ok {
		return t.id
	}
	return f.want
}

// difference is a field that is not what it is to be.
type difference struct {
	field    field
	old, new string
}

// differences compares the thing with what was found.
func (t *thing) differences() []difference {
	var list []difference
	for _, f := range t.fields {
		if f.once || f.same(t.found) || f.name == "disk" && t.found.number("virtual_disk_count") > 0 {
			continue // the disk of a machine that has disks of its own is their sum
		}
		list = append(list, difference{field: f, old: t.found.shown(f.name), new: f.shown()})
	}
	return list
}

// same tells whether a record has the field as it is to be.
func (f field) same(r record) bool {
	if t, ok := f.want.(*thing); ok && t.id == 0 {
		return false
	}
	return r.text(f.name) == f.text()
}

// inOrder writes a set in one way.
func inOrder(words []string) string {
	sorted := slices.Clone(words)
	slices.Sort(sorted)
	return strings.Join(sorted, ", ")
}
