package differential

import (
	"context"
	"fmt"
	"strings"
)

// tablesOf returns the tables that a request names: it can't change others.
func (s *scene) tablesOf(req request) (all tables) {
	body := text(req.body)
	for _, t := range s.tables {
		if strings.Contains(body, t.name) {
			all = append(all, t)
		}
	}
	return all
}

// compareTables compares the contents of all tables of a request.
func (r *round) compareTables(ctx context.Context, req request) (*difference, error) {
	for _, t := range r.scene.tablesOf(req) {
		if d, err := r.compareScan(ctx, object{"TableName": t.name, "ConsistentRead": true}); d != nil || err != nil {
			return d, err
		}
	}
	return nil, nil
}

// compareIndexes compares the contents of all indexes.
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
	req := request{operation: "Scan", body: body}
	a, b, err := r.both(func(e *endpoint) (answer, error) { return e.sendAll(ctx, req) })
	if err != nil {
		return nil, err
	}
	if what := r.scene.tables.compare(req, a, b); what != "" {
		return &difference{req: req, what: what, first: a, second: b}, nil
	}
	return nil, nil
}

// reconcile removes from both ends every item that only one of them has.
func (r *round) reconcile(ctx context.Context, req request) error {
	for _, t := range r.scene.tablesOf(req) {
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
	d, err := r.compareTables(ctx, req)
	if err == nil && d != nil {
		err = fmt.Errorf("still different after removing the differing items:\n%s", d)
	}
	return err
}

// unshared returns the keys of the items that only one of two scans has.
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

// keyOf returns the key of an item.
func (t *table) keyOf(item object) object {
	out := object{}
	for _, k := range t.keys() {
		out[k.name] = item[k.name]
	}
	return out
}
