package netbox

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"

	"golang.org/x/sync/errgroup"
)

const (
	// pageSize is what NetBox gives at most in one page, unless it is set up to
	// give less.
	pageSize = 1000
	// longest is how long the query of an address may become: common servers before
	// NetBox take lines of 4094 bytes (gunicorn) or 8 KiB (nginx).
	longest = 3000
)

// page is what NetBox answers to a list.
type page struct {
	Count   *int     `json:"count"`
	Next    *string  `json:"next"`
	Results []record `json:"results"`
}

// list reads all objects of a kind that a query finds, in as many pages as it
// takes.
func (c *client) list(ctx context.Context, k *kind, query url.Values) ([]record, error) {
	// Objects may come and go while pages are turned. Then one would be missed or
	// seen twice, and the look begins again.
	const looks = 3
	for range looks {
		all, whole, err := c.pages(ctx, k, query)
		if err != nil || whole {
			return all, err
		}
	}
	return nil, contactError("GET", k.path, fmt.Errorf("the list changed under each of %d looks", looks))
}

func (c *client) pages(ctx context.Context, k *kind, query url.Values) (all []record, whole bool, err error) {
	seen := map[int]bool{}
	for {
		// The address in next is NetBox's own idea of where it is, which behind a
		// proxy may be wrong: we turn the pages ourselves.
		q := url.Values{"limit": {strconv.Itoa(pageSize)}, "ordering": {"id"}}
		maps.Copy(q, query)
		if len(all) > 0 {
			q.Set("offset", strconv.Itoa(len(all)))
		}
		if k == virtualMachines || k == devices {
			// It costs a query each, and is not looked at. The second is the word
			// for it since 4.5; NetBox passes over what it doesn't know.
			q.Set("exclude", "config_context")
			q.Set("omit", "config_context")
		}
		var p page
		if err := c.get(ctx, k.path, q, &p); err != nil {
			return nil, false, err
		}
		if p.Count == nil || p.Results == nil {
			return nil, false, contactError("GET", k.path, fmt.Errorf("an answer that is no page of a list"))
		}
		for _, r := range p.Results {
			if r.id() == 0 || seen[r.id()] {
				return nil, false, nil
			}
			seen[r.id()] = true
		}
		all = append(all, p.Results...)
		if p.Next == nil || len(p.Results) == 0 {
			return all, len(all) == *p.Count, nil
		}
	}
}

// find reads the objects of a kind that have one of the values in a field, beside
// what else the query says.
func (c *client) find(ctx context.Context, k *kind, query url.Values, field string, values []string) ([]record, error) {
	chunks := chunksOf(field, values)
	found := make([][]record, len(chunks))
	group, ctx := errgroup.WithContext(ctx)
	for i, chunk := range chunks {
		group.Go(func() (err error) {
			q := url.Values{field: chunk}
			maps.Copy(q, query)
			found[i], err = c.list(ctx, k, q)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return slices.Concat(found...), nil
}

// chunksOf shares values out among as many queries as it takes for none to become
// too long.
func chunksOf(field string, values []string) [][]string {
	var chunks [][]string
	room := 0
	for _, value := range values {
		size := len(url.QueryEscape(value)) + len(field) + 2
		if room -= size; room < 0 {
			chunks, room = append(chunks, nil), longest-size
		}
		last := &chunks[len(chunks)-1]
		*last = append(*last, value)
	}
	return chunks
}
