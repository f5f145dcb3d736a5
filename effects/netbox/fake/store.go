package fake

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// create makes an object, or says what is wrong with each field of it.
func (s *Server) create(path string, fields object) (int, map[string][]string) {
	o := object{}
	faults := s.fill(path, o, fields)
	for name, f := range models[path].fields {
		if f.required && (o[name] == nil || o[name] == "") && faults[name] == nil {
			faults[name] = []string{"This field is required."}
		}
		switch {
		case o[name] != nil:
		case name == "status":
			o[name] = "active"
		case f.boolean:
			o[name] = name == "enabled" || name == "vm_role"
		}
	}
	s.last++
	o["id"] = s.last
	if s.validate(path, o, faults); len(faults) > 0 {
		return 0, faults
	}
	s.objects[path] = append(s.objects[path], o)
	return s.last, nil
}

// change changes fields of an object.
func (s *Server) change(path string, fields object) (int, map[string][]string) {
	id := number(fields["id"])
	i := s.index(path, id)
	if i < 0 {
		return 0, map[string][]string{"id": {fmt.Sprintf("Object with ID %d does not exist", id)}}
	}
	o := maps.Clone(s.objects[path][i])
	faults := s.fill(path, o, fields)
	if s.validate(path, o, faults); len(faults) > 0 {
		return 0, faults
	}
	s.objects[path][i] = o
	return id, nil
}

// fill puts fields into an object, each looked at by itself. Unlike NetBox, which
// passes over fields that it doesn't know, it refuses these.
func (s *Server) fill(path string, o, fields object) map[string][]string {
	faults := map[string][]string{}
	for name, value := range fields {
		f, known := models[path].fields[name]
		switch {
		case name == "id":
			continue
		case !known:
			faults[name] = []string{"Unknown field."}
			continue
		case value == nil && (f.required || f.choices != nil):
			faults[name] = []string{"This field may not be null."}
			continue
		case value == nil:
			delete(o, name)
			continue
		}
		if fault := s.look(f, value); fault != "" {
			faults[name] = []string{fault}
			continue
		}
		o[name] = value
		if f.refers != "" && !f.list || f.generic != "" {
			o[name] = number(value)
		}
	}
	for name, f := range models[path].fields {
		if id := number(o[name]); f.generic != "" && id != 0 && faults[name] == nil {
			kind, _ := o[f.generic].(string)
			if s.index(pathOf(kind), id) < 0 {
				faults[name] = []string{fmt.Sprintf("Related object not found using the provided value: %d.", id)}
			}
		}
	}
	return faults
}

// look says what is wrong with a value.
func (s *Server) look(f field, value any) string {
	text, isText := value.(string)
	_, isNumber := value.(float64)
	_, isBool := value.(bool)
	list, isList := value.([]any)
	switch {
	case f.list && !isList:
		return fmt.Sprintf("Expected a list of items but got type %T.", value)
	case f.list && f.refers != "":
		for _, one := range list {
			if s.index(f.refers, number(one)) < 0 {
				return fmt.Sprintf("Related object not found using the provided numeric ID: %v", one)
			}
		}
	case f.list:
	case f.refers != "":
		if !isNumber || s.index(f.refers, number(value)) < 0 {
			return fmt.Sprintf("Related object not found using the provided numeric ID: %v", value)
		}
	case f.generic != "", f.integer:
		if !isNumber {
			return "A valid integer is required."
		}
	case f.boolean:
		if !isBool {
			return "Must be a valid boolean."
		}
	case !isText:
		return "Not a valid string."
	case f.choices != nil && !slices.Contains(f.choices, text):
		return fmt.Sprintf("%s is not a valid choice.", text)
	case f.required && text == "":
		return "This field may not be blank."
	case f.most > 0 && len(text) > f.most:
		return fmt.Sprintf("Ensure this field has no more than %d characters.", f.most)
	case f.form != nil && !f.form.MatchString(text):
		return `Enter a valid "slug" consisting of letters, numbers, underscores or hyphens.`
	}
	return ""
}

// validate looks at an object among the others.
func (s *Server) validate(path string, o object, faults map[string][]string) {
	if len(faults) > 0 {
		return
	}
	m := models[path]
	for _, together := range m.unique {
		key := func(o object) string {
			var parts []string
			for _, name := range together {
				parts = append(parts, strings.ToLower(fmt.Sprint(o[name])))
			}
			return strings.Join(parts, "\x00")
		}
		for _, other := range s.objects[path] {
			if number(other["id"]) != number(o["id"]) && key(other) == key(o) {
				faults["__all__"] = append(faults["__all__"], fmt.Sprintf("Object with this %s already exists.", strings.Join(together, " and ")))
			}
		}
	}
	if m.check != nil {
		m.check(s, o, faults)
	}
}

// remove deletes an object with what goes with it, unless something else needs it.
func (s *Server) remove(path string, id int) (faults map[string][]string, protected bool) {
	if s.index(path, id) < 0 {
		return map[string][]string{"id": {fmt.Sprintf("Object with ID %d does not exist", id)}}, false
	}
	for other, m := range models {
		for _, o := range slices.Clone(s.objects[other]) {
			for name, f := range m.fields {
				if !s.refers(o, name, f, path, id) {
					continue
				}
				switch {
				case f.list:
					list, _ := o[name].([]any)
					o[name] = slices.DeleteFunc(slices.Clone(list), func(v any) bool { return number(v) == id })
				case f.loses:
					delete(o, name)
				case !f.cascade:
					return map[string][]string{"__all__": {"Unable to delete: 1 dependent object(s) prevent deletion."}}, true
				default:
					if faults, protected := s.remove(other, number(o["id"])); len(faults) > 0 {
						return faults, protected
					}
				}
			}
		}
	}
	s.objects[path] = slices.DeleteFunc(s.objects[path], func(o object) bool { return number(o["id"]) == id })
	return nil, false
}

// refers tells whether a field of an object refers to another.
func (s *Server) refers(o object, name string, f field, path string, id int) bool {
	switch {
	case f.generic != "":
		kind, _ := o[f.generic].(string)
		return number(o[name]) == id && pathOf(kind) == path
	case f.refers != path:
		return false
	case f.list:
		list, _ := o[name].([]any)
		return slices.ContainsFunc(list, func(v any) bool { return number(v) == id })
	}
	return number(o[name]) == id
}
