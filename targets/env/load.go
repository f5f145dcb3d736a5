package env

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/sethvargo/go-envconfig"
)

// For says for whom a load is. The zero For is a run without a machine: only
// plain names count.
type For struct {
	// Group is the machine's group, or that of an effect. Its forms of the keys win
	// over plain ones.
	Group Group
	// Machine is the machine's name. Its forms of the keys win over all others.
	Machine string
	// Alone says that the run has no other machine, so that the plain forms of
	// keys of scope machine are meant for this one.
	Alone bool
}

// Group is a group whose machines a load may be for. The zero Group is none.
type Group struct {
	Name string
	// Sole says that the group has one machine, so that its forms of keys of scope
	// machine are meant for that one.
	Sole bool
	// Among says that the run is over several groups: then what is wrong with a key
	// that is missing names the group's form of it too.
	Among bool
}

// names returns the variables that may hold k, the one that wins first.
func (s For) names(k Key) []string {
	if k.Scope == ScopeRun {
		return []string{k.Name}
	}
	var names []string
	own := k.Scope == ScopeMachine
	if s.Machine != "" {
		names = append(names, k.Scoped(s.Machine))
	}
	if s.Group.Name != "" && (!own || s.Group.Sole) {
		names = append(names, k.Scoped(s.Group.Name))
	}
	if s.Machine == "" || !own || s.Alone {
		names = append(names, k.Name)
	}
	return names
}

// wanted is the variable that is asked for where none of names is set: the plain one,
// or else the machine's.
func (k Key) wanted(names []string) string {
	if slices.Contains(names, k.Name) {
		return k.Name
	}
	return names[0]
}

// Variables returns every variable that may give k in s, the one that wins first;
// behind each that is secret, the one that names its file.
func (s For) Variables(k Key) []string {
	var all []string
	for _, name := range s.names(k) {
		all = append(all, name)
		if k.Secret {
			all = append(all, name+fileSuffix)
		}
	}
	return all
}

// Load fills structs, given as pointers, from e. A field whose key is unset and
// has no default stays as it is.
//
// The error is a *Problems with all that is missing or malformed, in the order of
// declaration, and then the structs are partly filled. It is a *DeclarationError
// where a struct can't be loaded at all. No error holds the text of a secret that
// e names. ctx bounds the reading of secrets from files.
func (e Environment) Load(ctx context.Context, scope For, into ...any) error {
	scope = e.within(scope)
	targets, fields, err := open(into)
	if err != nil {
		return err
	}
	found := make([]*Problem, len(fields))
	// Secrets first: the redactor must know them all before any value is quoted.
	for _, secret := range []bool{true, false} {
		for i, f := range fields {
			if f.key.Secret == secret {
				found[i] = e.fill(ctx, scope, f, targets[f.owner].FieldByIndex(f.index))
			}
		}
	}
	return problems(found)
}

// open returns the structs behind pointers, and their fields.
func open(into []any) ([]reflect.Value, []field, error) {
	fields, faults := inspect(into)
	targets := make([]reflect.Value, len(into))
	for i, target := range into {
		v := reflect.ValueOf(target)
		if v.Kind() != reflect.Pointer || v.IsNil() {
			faults = append(faults, Fault{Place: fmt.Sprintf("%T", target), What: "is not a pointer to a struct to fill"})
			continue
		}
		targets[i] = v.Elem()
	}
	if len(faults) > 0 {
		return nil, nil, &DeclarationError{Faults: faults}
	}
	return targets, fields, nil
}

// fill sets target to what e holds for f, or says why it can't.
func (e Environment) fill(ctx context.Context, scope For, f field, target reflect.Value) *Problem {
	names := scope.names(f.key)
	variable, value, problem := e.find(ctx, names, f.key)
	if problem != nil {
		return problem
	}
	if value == "" {
		variable, value = f.key.wanted(names), f.key.Default
	}
	if value == "" {
		if f.key.Required {
			return e.missing(scope, names, f.key)
		}
		return nil
	}
	decoded, problem := e.decoded(ctx, f, variable, value)
	if problem != nil {
		return problem
	}
	target.Set(decoded)
	return nil
}

// decoded is the value that a variable holds, as f's type, or what is wrong with
// it.
func (e Environment) decoded(ctx context.Context, f field, variable, value string) (reflect.Value, *Problem) {
	if f.key.Secret && !f.several {
		// A line end behind a token is of the editor that wrote it.
		value = strings.TrimRight(value, "\r\n")
		if err := oneLine(value); err != nil {
			return reflect.Value{}, f.key.problem(variable, err.Error()+", and must be one line")
		}
	}
	if f.key.Secret && !strings.HasSuffix(variable, fileSuffix) && e.isFile(value) {
		return reflect.Value{}, f.key.problem(variable, "is the path of a file, and not what is in it")
	}
	decoded, err := f.decode(ctx, value)
	if err != nil {
		what := err.Error()
		if !f.key.Secret {
			what = quote(value, e.Redactor()) + " " + what
		}
		return decoded, f.key.problem(variable, what)
	}
	return decoded, nil
}

// find returns the first of names that is set, and its value; for a secret that
// is given as a file, what the file holds.
func (e Environment) find(ctx context.Context, names []string, k Key) (string, string, *Problem) {
	for _, name := range names {
		value := lineEnds(e.value(name))
		if k.Secret {
			e.Redactor().addText(e.value(name))
			e.Redactor().addText(value)
			if path := lineEnds(e.value(name + fileSuffix)); path != "" {
				return e.findFile(ctx, name, value, path, k)
			}
		}
		if value != "" {
			return name, value, nil
		}
	}
	return "", "", nil
}

// findFile reads the secret called name from path; value is what the variable
// itself holds, which must be nothing.
func (e Environment) findFile(ctx context.Context, name, value, path string, k Key) (string, string, *Problem) {
	file := name + fileSuffix
	if value != "" {
		problem := k.problem(name, "set together with "+file)
		problem.Valid = "one of " + name + " and " + file
		return "", "", problem
	}
	text, err := e.snapshot().files.read(ctx, path)
	if err != nil {
		problem := k.problem(file, err.Error())
		problem.Valid = "path of a file that holds the secret and nothing else"
		return "", "", problem
	}
	e.Redactor().addText(text)
	text = lineEnds(text)
	e.Redactor().addText(text)
	return file, text, nil
}

// missing is the problem of a required key for which none of names holds anything.
func (e Environment) missing(scope For, names []string, k Key) *Problem {
	name := k.wanted(names)
	if empty := slices.IndexFunc(names, e.has); empty >= 0 {
		return k.problem(names[empty], "empty")
	}
	what := "missing"
	if k.Scope == ScopeMachine && !scope.Alone && name != k.Name && e.value(k.Name) != "" {
		what += "; " + k.Name + " counts only in a run of one machine"
	}
	problem := k.problem(name, what)
	if form := k.Scoped(scope.Group.Name); scope.Group.Among && slices.Contains(names, form) {
		problem.Or = form
	}
	return problem
}

// check says what is wrong with value, which is not empty.
func (f field) check(value string) error {
	leaf := reflect.New(f.holder).Elem().Field(0)
	if v, ok := reflect.TypeAssert[Value](leaf.Addr()); ok {
		return v.EnvDecode(value)
	}
	if f.choices != nil && !slices.Contains(f.choices, value) {
		return errors.New("is none of them")
	}
	return oneLine(value)
}

// decode turns value, which is not empty, into one of the field's type.
//
// go-envconfig stops at the first error and names the Go field in it. So it gets
// a struct of this one field, and the decoder's own error is taken out again.
func (f field) decode(ctx context.Context, value string) (reflect.Value, error) {
	holder := reflect.New(f.holder)
	leaf := holder.Elem().Field(0)
	if leaf.Kind() == reflect.String {
		if err := f.check(value); err != nil {
			return leaf, err
		}
	}
	err := envconfig.ProcessWith(ctx, &envconfig.Config{
		Target:   holder.Interface(),
		Lookuper: envconfig.LookuperFunc(func(string) (string, bool) { return value, true }),
	})
	if inner := errors.Unwrap(err); inner != nil && leaf.Kind() != reflect.Struct {
		err = inner
	}
	return leaf, err
}
