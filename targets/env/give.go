package env

import "maps"

// Give returns an environment in which k has value, in a form that counts in
// scope, as if the caller had set it; it shares e's redactor. The error, a
// *Problems, is that e holds another value already.
func (e Environment) Give(scope For, k Key, value string) (Environment, error) {
	names := e.within(scope).names(k)
	for _, name := range names {
		switch e.value(name) {
		case value:
			return e, nil
		case "":
			continue
		}
		problem := k.problem(name, quote(e.value(name), e.Redactor())+", and "+quote(value, e.Redactor())+" as an argument")
		problem.Valid = "one of the two, or both alike"
		return e, &Problems{List: []Problem{*problem}}
	}
	own := e.snapshot()
	values := maps.Clone(own.values)
	if values == nil {
		values = map[string]string{}
	}
	values[names[0]] = value
	s := &snapshot{values: values, group: own.group, files: own.files, redactor: own.redactor}
	return Environment{func() *snapshot { return s }}, nil
}
