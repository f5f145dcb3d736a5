package netbox

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/task"
)

// destroy deletes what bears the deployment's tag.
type destroy struct{ *coordinates }

func (d *destroy) Coordinates() []any { return []any{&d.keys} }

func (d *destroy) Check(env.Environment) error { return d.checkServer() }

func (d *destroy) Run(ctx context.Context, run *task.Run) error {
	return d.talk(ctx, run, "delete the inventory in", func(ctx context.Context, client *client, tag *thing) error {
		if tag.id == 0 {
			run.Log.Infof("nothing to delete: NetBox has no tag %s", tag.key())
			return nil
		}
		marked, err := client.allMarked(ctx, tag, owned)
		if err != nil {
			return err
		}
		var objects []leftover
		for _, k := range owned {
			for _, r := range marked[k] {
				objects = append(objects, leftover{k, r})
			}
		}
		if err := client.guard(ctx, objects, tag.key()); err != nil {
			return err
		}
		defer run.Record.Time("change")()
		w := newWriter(client, tag, run)
		if err := w.deleteAll(ctx, objects); err != nil {
			return err
		}
		return d.scaffold(ctx, run, w)
	})
}

// scaffold deletes what the machines stood in, as far as nobody else uses it, and
// at last the tag.
func (d *destroy) scaffold(ctx context.Context, run *task.Run, w *writer) error {
	for _, k := range slices.Backward(scaffold) {
		// Listed anew: what uses it was counted before the machines went.
		marked, err := w.list(ctx, k, url.Values{"tag": {w.tag.key()}})
		if err != nil {
			return err
		}
		for _, r := range marked {
			if err := d.spare(ctx, run, w, leftover{k, r}); err != nil {
				return err
			}
		}
	}
	return d.untag(ctx, run, w)
}

// spare deletes an object unless it is used.
func (d *destroy) spare(ctx context.Context, run *task.Run, w *writer, l leftover) error {
	used, err := w.uses(ctx, l)
	if err != nil {
		return err
	}
	if len(used) > 0 {
		run.Log.Warnf("%s stays: it is in use (%s)", l, strings.Join(used, ", "))
		return nil
	}
	err = w.delete(ctx, l.kind, []leftover{l})
	var answer *answerError
	if errors.As(err, &answer) && answer.status == http.StatusConflict {
		run.Log.Warnf("%s stays: it is in use (%s)", l, err)
		return nil
	}
	return err
}

// untag deletes the tag, if nothing bears it.
func (d *destroy) untag(ctx context.Context, run *task.Run, w *writer) error {
	found, err := w.list(ctx, tags, url.Values{"slug": {w.tag.key()}})
	if err != nil || len(found) == 0 {
		return err
	}
	tag := leftover{tags, found[0]}
	if bearers := tag.number("tagged_items"); bearers > 0 {
		run.Log.Warnf("%s stays: %d objects bear it", tag, bearers)
		return nil
	}
	return w.delete(ctx, tags, []leftover{tag})
}
