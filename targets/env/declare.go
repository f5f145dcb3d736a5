package env

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Value is a field type with a grammar of its own, implemented by the pointer to
// it. Host, Port and the others here are Values; packages may bring theirs.
type Value interface {
	// EnvDecode sets the receiver from a variable that is not empty. Its error
	// goes on from the quoted value, which it does not repeat: "is above 65535".
	EnvDecode(value string) error
	// Valid says in words what EnvDecode accepts, whatever the receiver holds.
	Valid() string
}

// Declared returns the keys that structs declare, sorted by name; structs are
// values of struct types, or pointers to some. Keys that are declared twice alike
// appear once, as required where one of the declarations says so. The error is a *DeclarationError with every fault there is.
func Declared(structs ...any) ([]Key, error) {
	fields, faults := inspect(structs)
	for _, f := range fields {
		faults = append(faults, f.checkDefault()...)
	}
	first := make(map[string]field)
	var keys []Key
	for _, f := range fields {
		earlier, ok := first[f.key.Name]
		alike := f.key
		alike.Required = earlier.key.Required
		switch {
		case !ok:
			first[f.key.Name] = f
			keys = append(keys, f.key)
		case earlier.key == alike && f.key.Required:
			// What one can do without, another may need: together they need it.
			at := slices.IndexFunc(keys, func(k Key) bool { return k.Name == f.key.Name })
			keys[at].Required, earlier.key.Required = true, true
			first[f.key.Name] = earlier
		case earlier.key != alike:
			faults = append(faults, f.fault("differs from %s in its %s", earlier.place, difference(earlier.key, f.key)))
		}
	}
	for _, k := range keys {
		clash, ok := first[k.Name+fileSuffix]
		if ok && k.Secret {
			faults = append(faults, clash.fault("is the file form of the secret %s", k.Name))
		}
	}
	if len(faults) > 0 {
		return nil, &DeclarationError{Faults: faults}
	}
	slices.SortFunc(keys, func(a, b Key) int { return cmp.Compare(a.Name, b.Name) })
	return keys, nil
}

// difference names what two declarations of one key disagree about.
func difference(a, b Key) string {
	var parts []string
	for _, part := range []struct {
		name   string
		differ bool
	}{
		{"description", a.Description != b.Description},
		{"default", a.Default != b.Default},
		{"scope", a.Scope != b.Scope},
		{"type", a.Type != b.Type || a.Secret != b.Secret},
	} {
		if part.differ {
			parts = append(parts, part.name)
		}
	}
	return strings.Join(parts, ", ")
}

// Fault is one thing that is wrong with a declaration.
type Fault struct {
	Place string // the field, as in "remote.SSH.Host"; empty where none is to blame
	Name  string // the key or variable; empty where it has none
	What  string // what is wrong
}

// DeclarationError lists what is wrong with declared keys. It is a mistake of
// whoever wrote them, never of the caller who sets variables.
type DeclarationError struct{ Faults []Fault }

// Error returns one line a fault.
func (e *DeclarationError) Error() string {
	lines := []string{"declare environment keys:"}
	for _, f := range e.Faults {
		lines = append(lines, strings.TrimSpace(f.Place+" "+f.Name)+": "+f.What)
	}
	return strings.Join(lines, "\n  ")
}

// field is a struct field that declares a key.
type field struct {
	key     Key
	place   string       // for faults: the struct's type and the field's name
	owner   int          // index of the struct among those inspected
	index   []int        // path of the field in it
	holder  reflect.Type // a struct of this one field, for decoding
	choices []string     // what a string may be; nil means anything of one line
	several bool         // a secret that may have several lines
}

func (f field) fault(format string, args ...any) Fault {
	return Fault{Place: f.place, Name: f.key.Name, What: fmt.Sprintf(format, args...)}
}

// inspect walks structs and returns their keys' fields in the order of
// declaration, with the faults that a field shows by itself.
func inspect(structs []any) ([]field, []Fault) {
	var w walk
	for i, s := range structs {
		t := reflect.TypeOf(s)
		if t != nil && t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		if t == nil || t.Kind() != reflect.Struct {
			w.faults = append(w.faults, Fault{Place: fmt.Sprintf("%T", s), What: "is not a struct"})
			continue
		}
		w.owner = i
		place := t.String()
		if t.Name() == "" {
			place = "" // an anonymous struct prints as its whole source
		}
		w.visit(t, place, nil, false)
	}
	return w.fields, w.faults
}

// walk collects while it goes down nested structs.
type walk struct {
	owner  int
	fields []field
	faults []Fault
}

// visit looks at each field of t. Nothing can be set below a hidden, that is
// unexported, field.
func (w *walk) visit(t reflect.Type, place string, index []int, hidden bool) {
	for i := range t.NumField() {
		sf := t.Field(i)
		at := strings.TrimPrefix(place+"."+sf.Name, ".")
		path := append(slices.Clone(index), i)
		private := hidden || !sf.IsExported() && !sf.Anonymous
		tag, tagged := sf.Tag.Lookup("env")
		switch {
		case tagged && (private || !sf.IsExported()):
			w.faults = append(w.faults, Fault{Place: at, What: "declares a key, but is not exported"})
		case tagged:
			f, faults := readField(sf, tag, at)
			f.owner, f.index = w.owner, path
			w.faults = append(w.faults, faults...)
			if len(faults) == 0 {
				w.fields = append(w.fields, f)
			}
		case sf.Tag.Get("desc") != "":
			w.faults = append(w.faults, Fault{Place: at, What: "is described, but has no env tag"})
		case sf.Type.Kind() == reflect.Struct:
			w.visit(sf.Type, at, path, private)
		case indirect(sf.Type) && declares(sf.Type.Elem()):
			w.faults = append(w.faults, Fault{Place: at, What: "declares keys behind a " + sf.Type.Kind().String() + "; nest the struct itself"})
		}
	}
}

// indirect says whether t holds its elements elsewhere, where no key is looked
// for.
func indirect(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return true
	default:
		return false
	}
}

// declares says whether t is a struct with an env tag.
func declares(t reflect.Type) bool {
	if t.Kind() != reflect.Struct {
		return false
	}
	for field := range t.Fields() {
		if _, ok := field.Tag.Lookup("env"); ok {
			return true
		}
	}
	return false
}
