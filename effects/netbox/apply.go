package netbox

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"fediversity.eu/slipway/targets/task"
)

// apply makes NetBox hold the inventory of a group.
type apply struct{ *coordinates }

func (a *apply) Run(ctx context.Context, run *task.Run) error {
	return a.talk(ctx, run, "keep the inventory in", func(ctx context.Context, client *client, tag *thing) error {
		changes, err := a.compared(ctx, run, client, tag)
		if err != nil {
			return err
		}
		for _, l := range changes.kept {
			run.Log.Warnf("%s (id %d) bears the tag %s and is not the group's; NETBOX_PRUNE=true deletes it", l, l.id(), tag.key())
		}
		if changes.none() {
			run.Log.Infof("nothing to change: NetBox holds what the group declares")
			return nil
		}
		defer run.Record.Time("change")()
		return changes.carryOut(ctx, newWriter(client, tag, run))
	})
}

// newWriter makes a writer that says what it does, and notes it in the record.
func newWriter(client *client, tag *thing, run *task.Run) *writer {
	var mu sync.Mutex
	return &writer{
		client: client, tag: tag,
		done: func(what string, k *kind, names []string) { run.Log.Infof("%s %s", what, described(k, names)) },
		touched: func() {
			mu.Lock()
			defer mu.Unlock()
			run.Record.Changed = true
		},
	}
}

// described names objects of a kind, not too many of them.
func described(k *kind, names []string) string {
	const most = 10
	text := k.noun + " " + strings.Join(names[:min(len(names), most)], ", ")
	if len(names) > most {
		text += fmt.Sprintf(" and %d more", len(names)-most)
	}
	return text
}

// carryOut goes the way. Each step ends before the next begins, so that wherever
// it breaks off, NetBox holds only whole objects that bear the tag, and the next
// run finds them and goes on from there.
func (c *changes) carryOut(ctx context.Context, w *writer) error {
	for _, k := range slices.Concat([]*kind{tags}, scaffold, owned) {
		if k == addresses {
			if err := c.each(ctx, w, c.releases); err != nil {
				return err
			}
		}
		if err := w.create(ctx, k, ofKind(k, c.creates)); err != nil {
			return err
		}
		if err := w.update(ctx, k, updatesOf(k, c.updates)); err != nil {
			return err
		}
		if k == addresses {
			if err := c.each(ctx, w, c.primaries); err != nil {
				return err
			}
		}
	}
	return w.deleteAll(ctx, c.deletes)
}

// each updates machines of either kind.
func (c *changes) each(ctx context.Context, w *writer, updates []update) error {
	for _, k := range []*kind{devices, virtualMachines} {
		if err := w.update(ctx, k, updatesOf(k, updates)); err != nil {
			return err
		}
	}
	return nil
}

// deleteAll deletes what is a deployment's own, parts before what they are part
// of.
func (w *writer) deleteAll(ctx context.Context, objects []leftover) error {
	for _, k := range slices.Backward(owned) {
		var some []leftover
		for _, l := range objects {
			if l.kind == k {
				some = append(some, l)
			}
		}
		if err := w.delete(ctx, k, some); err != nil {
			return err
		}
	}
	return nil
}

func ofKind(k *kind, things []*thing) []*thing {
	return slices.DeleteFunc(slices.Clone(things), func(t *thing) bool { return t.kind != k })
}

func updatesOf(k *kind, updates []update) []update {
	return slices.DeleteFunc(slices.Clone(updates), func(u update) bool { return u.kind != k })
}
