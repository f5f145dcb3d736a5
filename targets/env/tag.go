package env

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

var (
	secretType = reflect.TypeFor[Secret]()
	valueType  = reflect.TypeFor[Value]()
)

// readField reads one field's tags into a key and returns all that is wrong with
// them.
func readField(sf reflect.StructField, tag, place string) (field, []Fault) {
	f := field{place: place}
	var faults []Fault
	fault := func(format string, args ...any) { faults = append(faults, f.fault(format, args...)) }

	name, options, _ := strings.Cut(tag, ",")
	f.key = Key{Name: name, Description: sf.Tag.Get("desc"), Scope: ScopeAll}
	if !nameGrammar.MatchString(name) {
		fault("the name does not match %s", nameGrammar)
	}
	if isFixed(name) {
		fault("the name belongs to what every child process gets")
	}
	if d := f.key.Description; d == "" || d != strings.TrimSpace(d) || oneLine(d) != nil {
		fault("needs a desc tag of one line")
	}
	for options != "" {
		option, rest, _ := strings.Cut(options, ",")
		if value, ok := strings.CutPrefix(options, "default="); ok {
			// As in go-envconfig, a default reaches to the end of the tag.
			f.key.Default = value
			option, rest = "default=", ""
		}
		switch option {
		case "required":
			f.key.Required = true
		case "default=":
			if f.key.Default == "" {
				fault("has an empty default")
			}
			if strings.ContainsAny(f.key.Default, `$\`) {
				fault(`has a $ or a \ in its default, which go-envconfig would expand`)
			}
		default:
			fault("has the option %q; there are required and default=", option)
		}
		options = rest
	}
	if scope, ok := sf.Tag.Lookup("scope"); ok {
		f.key.Scope = Scope(scope)
		if f.key.Scope != ScopeMachine && f.key.Scope != ScopeRun {
			fault("has the scope %q; there are machine and run, or no tag for all", scope)
		}
	}
	f.key.Secret = sf.Type == secretType
	if f.key.Required && f.key.Default != "" {
		fault("is required and has a default")
	}
	if lines, ok := sf.Tag.Lookup("lines"); ok {
		f.several = true
		if lines != "several" || !f.key.Secret {
			fault("has the tag lines:%q; there is several, for secrets", lines)
		}
	}
	if f.key.Secret && f.key.Default != "" {
		fault("is secret and has a default")
	}
	if f.key.Secret && strings.HasSuffix(name, fileSuffix) {
		fault("is secret and ends in %s, as the variable does that names a secret's file", fileSuffix)
	}
	if err := f.readType(sf); err != nil {
		fault("%v", err)
	}
	return f, faults
}

// readType notes what sf's type and its oneof tag accept.
func (f *field) readType(sf reflect.StructField) error {
	list, oneof := sf.Tag.Lookup("oneof")
	value := reflect.PointerTo(sf.Type).Implements(valueType)
	switch {
	case oneof && (value || sf.Type.Kind() != reflect.String):
		return fmt.Errorf("has a oneof tag, which is for plain strings, not for %s", sf.Type)
	case oneof:
		f.choices = strings.Split(list, ",")
		for i, choice := range f.choices {
			if choice == "" || choice != strings.TrimSpace(choice) || slices.Contains(f.choices[:i], choice) {
				return fmt.Errorf("has the oneof tag %q, whose words are not all there and different", list)
			}
		}
		f.key.Type = "one of " + strings.Join(f.choices, ", ")
	case value && sf.Type != secretType && holdsSecret(sf.Type):
		return fmt.Errorf("has the type %s, which holds a Secret and would be shown; use env.Secret", sf.Type)
	case value:
		// Valid is documented not to look at the value.
		f.key.Type = reflect.New(sf.Type).Interface().(Value).Valid() //nolint:forcetypeassert // Implements said so.
	case sf.Type.Kind() == reflect.String:
		f.key.Type = "text of one line"
	default:
		return fmt.Errorf("has the unsupported type %s; there are string and the types of env", sf.Type)
	}
	f.holder = reflect.StructOf([]reflect.StructField{{Name: "Value", Type: sf.Type, Tag: `env:"VALUE"`}})
	return nil
}

// checkDefault says what is wrong with a default that does not decode.
func (f field) checkDefault() []Fault {
	if f.key.Default == "" {
		return nil
	}
	if err := f.check(f.key.Default); err != nil {
		return []Fault{f.fault("has the default %q, which %v", f.key.Default, err)}
	}
	return nil
}

// holdsSecret says whether t is a struct with a Secret in it, whose methods make
// it look like any other Value.
func holdsSecret(t reflect.Type) bool {
	if t.Kind() != reflect.Struct {
		return false
	}
	for field := range t.Fields() {
		if field.Type == secretType {
			return true
		}
	}
	return false
}
