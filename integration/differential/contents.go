package differential

import (
	"context"
	"fmt"
	"strings"
)

// tablesOf are the tables that a request names: it can change no others.
func (s *scene) tablesOf(asked request) (all tables) {
	body := text(asked.body)
	for _, t := range s.tables {
		if strings.Contains(body, t.name) {
			all = append(all, t)
		}
	}
	return all
}

// compareTables compares all that the tables hold that a request is about.
func (r *round) compareTables(ctx context.Context, asked request) (*difference, error) {
	for _, t := range r.scene.tablesOf(asked) {
		if d, err := r.compareScan(ctx, object{"TableName": t.name, "ConsistentRead": true}); d != nil || err != nil {
			return d, err
		}
	}
	return nil, nil
}

// compareIndexes compares all that the indexes hold.
func (r *round) compareIndexes(ctx context.Context) (*difference, error) {
	for _, t := range r.scene.tables {
		for _, x := range t.indexes() {
			if d, err := r.compareScan(ctx, object{"TableName": t.name, "IndexName": x.name}); d != nil || err != nil {
				return d, err
			}
		}
	}
	return nil, nil
}

func (r *round) compareScan(ctx context.Context, body object) (*difference, error) {
	asked := request{operation: "Scan", body: body}
	a, b, err := r.both(func(e *endpoint) (answer, error) { return e.sendAll(ctx, asked) })
	if err != nil {
		return nil, err
	}
	if what := r.scene.tables.compare(asked, a, b); what != "" {
		return &difference{asked: asked, what: what, first: a, second: b}, nil
	}
	return nil, nil
}

// reconcile removes from both ends every item that they don't share.
func (r *round) reconcile(ctx context.Context, asked request) error {
	for _, t := range r.scene.tablesOf(asked) {
		scan := request{operation: "Scan", body: object{"TableName": t.name, "ConsistentRead": true}}
		a, b, err := r.both(func(e *endpoint) (answer, error) { return e.sendAll(ctx, scan) })
		if err != nil {
			return err
		}
		for name, key := range t.unshared(a, b) {
			r.reconciled[t.name+name] = true
			remove := request{operation: "DeleteItem", body: object{"TableName": t.name, "Key": key}}
			if _, _, err := r.both(func(e *endpoint) (answer, error) { return e.send(ctx, remove) }); err != nil {
				return err
			}
		}
	}
	d, err := r.compareTables(ctx, asked)
	if err == nil && d != nil {
		err = fmt.Errorf("still different after removing what differed:\n%s", d)
	}
	return err
}

// unshared are the keys of the items that only one of two scans has.
func (t *table) unshared(a, b answer) map[string]object {
	times := map[string]int{}
	keys := map[string]object{}
	for _, end := range []answer{a, b} {
		items, _ := end.body.(object)["Items"].(list)
		for _, item := range items {
			whole := text(normalizeValue(item))
			times[whole]++
			keys[whole] = t.keyOf(item.(object))
		}
	}
	out := map[string]object{}
	for whole, n := range times {
		if n < 2 {
			out[text(normalizeValue(keys[whole]))] = keys[whole]
		}
	}
	return out
}

// keyOf is the key of an item.
func (t *table) keyOf(item object) object {
	out := object{}
	for _, k := range t.keys() {
		out[k.name] = item[k.name]
	}
	return out
}
