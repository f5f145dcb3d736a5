package netbox

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// together is how many objects one request changes: all of them, or none.
const together = 100

// writer changes what NetBox holds, many objects a request.
type writer struct {
	*client
	tag  *thing
	done func(what string, k *kind, names []string) // is told of each request that went well
	// touched is told when NetBox has changed or may have: what becomes of a
	// request that gets no answer, nobody knows.
	touched func()
}

// rejectedError is what NetBox has against some of the objects that it was sent.
// It took none of those in the same request.
type rejectedError struct {
	lines  []string // one a field of an object
	answer *answerError
}

func (e *rejectedError) Error() string { return strings.Join(e.lines, "\n") }
func (e *rejectedError) Unwrap() error { return e.answer }

// create makes things of one kind, and learns their ids.
func (w *writer) create(ctx context.Context, k *kind, things []*thing) error {
	return w.each(ctx, len(things), func(ctx context.Context, from, to int) error {
		chunk := things[from:to]
		body := make([]map[string]any, len(chunk))
		for i, t := range chunk {
			body[i] = map[string]any{}
			for _, f := range t.fields {
				body[i][f.name] = f.value()
			}
			if k != tags {
				body[i]["tags"] = []int{w.tag.id}
			}
		}
		var made []record
		err := w.send(ctx, http.MethodPost, k, body, &made)
		if err != nil {
			return rejected("create", k, namesOf(chunk), nil, err)
		}
		if len(made) != len(chunk) {
			return contactError(http.MethodPost, k.path, fmt.Errorf("it made %d of %d objects", len(made), len(chunk)))
		}
		for i, t := range chunk {
			if k.key(made[i]) != t.key() || made[i].id() == 0 {
				return contactError(http.MethodPost, k.path, fmt.Errorf("%s became %q", t, made[i].text("display")))
			}
			t.id = made[i].id()
		}
		w.done("created", k, namesOf(chunk))
		return nil
	})
}

// update changes things of one kind.
func (w *writer) update(ctx context.Context, k *kind, updates []update) error {
	return w.each(ctx, len(updates), func(ctx context.Context, from, to int) error {
		var body []map[string]any
		var names []string
		var ids []int
		for _, u := range updates[from:to] {
			fields := map[string]any{"id": u.id}
			for _, d := range u.differences {
				fields[d.field.name] = d.field.value()
			}
			body, names, ids = append(body, fields), append(names, u.name), append(ids, u.id)
		}
		if err := w.send(ctx, http.MethodPatch, k, body, nil); err != nil {
			return rejected("change", k, names, ids, err)
		}
		w.done("changed", k, names)
		return nil
	})
}

// delete deletes objects of one kind.
func (w *writer) delete(ctx context.Context, k *kind, objects []leftover) error {
	return w.each(ctx, len(objects), func(ctx context.Context, from, to int) error {
		var body []map[string]int
		var names []string
		var ids []int
		for _, l := range objects[from:to] {
			names, ids = append(names, strings.TrimPrefix(l.String(), k.noun+" ")), append(ids, l.id())
			body = append(body, map[string]int{"id": l.id()})
		}
		if err := w.send(ctx, http.MethodDelete, k, body, nil); err != nil {
			return rejected("delete", k, names, ids, err)
		}
		w.done("deleted", k, names)
		return nil
	})
}

// send sends objects. Unless NetBox says that it took none, something may have
// changed.
func (w *writer) send(ctx context.Context, method string, k *kind, body, result any) error {
	err := w.do(ctx, method, k.path, nil, body, result)
	var answer *answerError
	if err == nil || !errors.As(err, &answer) || answer.passing() && !answer.untaken() {
		w.touched()
	}
	return err
}

// each calls do for every so many of count objects, some at once. It reports all
// that went wrong.
func (w *writer) each(ctx context.Context, count int, do func(ctx context.Context, from, to int) error) error {
	var group sync.WaitGroup
	errs := make([]error, (count+together-1)/together)
	for i := range errs {
		group.Go(func() {
			from := i * together
			errs[i] = do(ctx, from, min(from+together, count))
		})
	}
	group.Wait()
	return errors.Join(errs...)
}

// rejected says of each object by its name what NetBox has against it.
func rejected(verb string, k *kind, names []string, ids []int, err error) error {
	var answer *answerError
	if !errors.As(err, &answer) || answer.passing() || answer.status < 400 {
		return err
	}
	e := &rejectedError{answer: answer}
	for _, f := range answer.faults() {
		object := ""
		switch {
		case f.index >= 0 && f.index < len(names):
			object = names[f.index]
		case f.id != 0 && slices.Contains(ids, f.id):
			object = names[slices.Index(ids, f.id)]
		case len(names) == 1:
			object = names[0]
		}
		if object == "" {
			object = fmt.Sprintf("one of %d", len(names))
		}
		e.lines = append(e.lines, fmt.Sprintf("%s %s %s: %s", verb, k.noun, object, f))
	}
	if len(e.lines) == 0 {
		return err
	}
	return e
}

func namesOf(things []*thing) []string {
	names := make([]string, len(things))
	for i, t := range things {
		names[i] = t.name
	}
	return names
}
