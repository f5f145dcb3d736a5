package contract

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/program"
)

// Reader is what all programs of one kind read. There are as many as there are
// different sets of keys, however many programs there are.
type Reader struct {
	Name string `json:"name"` // "ssh apply"; a number follows where programs of that method and verb differ
	Keys []Read `json:"keys"`
}

// Read is one key that a reader reads: what whoever sets variables must know.
type Read struct {
	Name     string    `json:"name"`
	Required bool      `json:"required"`
	Secret   bool      `json:"secret"` // may be given as a file too, in NAME_FILE
	Scope    env.Scope `json:"scope"`
}

// readers finds out which programs read the same.
type readers struct {
	byTypes map[string]*reader // by the types of their coordinates
	byName  map[string]*reader
	types   map[reflect.Type]int
}

// reader is a Reader with the whole keys.
type reader struct {
	name string
	kind program.Kind
	via  string // the method, where there is one
	keys []env.Key
}

func newReaders() *readers {
	return &readers{byTypes: map[string]*reader{}, byName: map[string]*reader{}, types: map[reflect.Type]int{}}
}

// of gives the name of the reader that p is, whose coordinates these are.
func (rs *readers) of(p program.Program, coordinates []any) (string, error) {
	base := strings.TrimSpace(p.Method + p.Effect + " " + p.Verb)
	if p.Kind == program.System {
		base = string(program.System)
	}
	types := base + ":" + rs.signature(coordinates)
	if known, ok := rs.byTypes[types]; ok {
		return known.name, nil
	}
	keys, err := env.Declared(coordinates...)
	if err != nil {
		return "", err
	}
	name := base
	for n := 2; ; n++ {
		other, taken := rs.byName[name]
		if !taken {
			rs.byName[name] = &reader{name: name, kind: p.Kind, via: p.Method, keys: keys}
		}
		if !taken || slices.Equal(other.keys, keys) {
			rs.byTypes[types] = rs.byName[name]
			return name, nil
		}
		name = fmt.Sprintf("%s %d", base, n)
	}
}

// signature tells coordinates of different types apart.
func (rs *readers) signature(coordinates []any) string {
	var b strings.Builder
	for _, c := range coordinates {
		t := reflect.TypeOf(c)
		if _, ok := rs.types[t]; !ok {
			rs.types[t] = len(rs.types)
		}
		fmt.Fprintf(&b, "%d,", rs.types[t])
	}
	return b.String()
}

// all lists the readers by name.
func (rs *readers) all() []*reader {
	list := make([]*reader, 0, len(rs.byName))
	for _, r := range rs.byName {
		list = append(list, r)
	}
	slices.SortFunc(list, func(a, b *reader) int { return strings.Compare(a.name, b.name) })
	return list
}

// sorted lists what is published of the readers.
func (rs *readers) sorted() []Reader {
	all := rs.all()
	list := make([]Reader, 0, len(all))
	for _, r := range all {
		own := Reader{Name: r.name, Keys: make([]Read, 0, len(r.keys))}
		for _, key := range r.keys {
			own.Keys = append(own.Keys, Read{Name: key.Name, Required: key.Required, Secret: key.Secret, Scope: key.Scope})
		}
		list = append(list, own)
	}
	return list
}
