package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/kasoku/kasoku/internal/dynamo/expr"
	"github.com/kasoku/kasoku/internal/dynamo/shape"
	"github.com/kasoku/kasoku/internal/dynamo/value"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// maxItem is the maximum size of an item.
const maxItem = 400 << 10

// trial is a write that is only evaluated.
type trial struct {
	condition *expr.Condition // nil for none
	update    *expr.Update    // of update_item
	item      *value.Value    // of put_item
	key       *value.Value
	old       *value.Value // nil if there is no item with the key
}

// effect is the result of a dry run.
type effect struct {
	DryRun bool `json:"dry_run"`
	// Outcome is create, replace, update, delete, nothing, or condition_fails.
	Outcome string          `json:"outcome"`
	Added   []string        `json:"added,omitempty"` // names of attributes
	Changed []string        `json:"changed,omitempty"`
	Removed []string        `json:"removed,omitempty"`
	Before  json.RawMessage `json:"before,omitempty"`
	After   json.RawMessage `json:"after,omitempty"`
}

// dryRun reports the effect of a write: it reads the item, and evaluates the condition and
// the update here.
func (s *Server) dryRun(ctx context.Context, t *tool, args arguments) (answer, error) {
	members := t.request(args)
	body, err := json.Marshal(members)
	if err != nil {
		return answer{}, err
	}
	if !wire.Valid(body, wire.MaxDepth) {
		return answer{}, errors.New("the request is nested too deeply")
	}
	if err := shape.Check(t.operation, body); err != nil {
		return answer{}, err
	}
	var d trial
	if err := d.parse(args); err != nil {
		return answer{}, err
	}
	names, err := s.keyNames(ctx, members["TableName"])
	if err != nil {
		return answer{}, err
	}
	if err := d.findKey(args, names); err != nil {
		return answer{}, err
	}
	found, err := s.call(ctx, "GetItem", map[string]json.RawMessage{
		"TableName": members["TableName"], "Key": d.key.AppendItem(nil), "ConsistentRead": json.RawMessage("true")})
	if err != nil {
		return answer{}, err
	}
	if raw, ok := wire.Lookup(found, "Item"); ok {
		old, err := value.ParseItem(raw)
		if err != nil {
			return answer{}, fmt.Errorf("the item that was read is malformed: %w", err)
		}
		d.old = &old
	}
	e, err := d.evaluate(t.name)
	if err != nil {
		return answer{}, err
	}
	return e.answer()
}

// parse reads the expressions and the item of a request.
func (d *trial) parse(args arguments) error {
	var names expr.Names
	var values expr.Values
	if err := names.Reset(args["expression_attribute_names"]); err != nil {
		return err
	}
	if err := values.Load(args["expression_attribute_values"]); err != nil {
		return err
	}
	var err error
	if raw, ok := args["update_expression"]; ok {
		if d.update, err = expr.ParseUpdate([]byte(text(raw)), &names, &values); err != nil {
			return err
		}
	}
	if raw, ok := args["condition_expression"]; ok {
		if d.condition, err = expr.ParseCondition("Condition", []byte(text(raw)), &names, &values); err != nil {
			return err
		}
	}
	if err := names.Unused(); err != nil {
		return err
	}
	if err := values.Unused(); err != nil {
		return err
	}
	if raw, ok := args["item"]; ok {
		item, err := value.ParseItem(raw)
		if err != nil {
			return err
		}
		d.item = &item
	}
	return nil
}

// keyNames returns the names of a table's key attributes.
func (s *Server) keyNames(ctx context.Context, table json.RawMessage) ([]string, error) {
	body, err := s.call(ctx, "DescribeTable", map[string]json.RawMessage{"TableName": table})
	if err != nil {
		return nil, err
	}
	var description struct {
		Table struct {
			KeySchema []struct{ AttributeName string }
		}
	}
	if err := json.Unmarshal(body, &description); err != nil || len(description.Table.KeySchema) == 0 {
		return nil, errors.New("the answer of DescribeTable has no key schema")
	}
	var names []string
	for _, k := range description.Table.KeySchema {
		names = append(names, k.AttributeName)
	}
	return names, nil
}

// findKey sets the key: that of the request, or of the item.
func (d *trial) findKey(args arguments, names []string) error {
	if raw, ok := args["key"]; ok {
		key, err := value.ParseItem(raw)
		d.key = &key
		if err != nil || d.update == nil {
			return err
		}
		for _, p := range d.update.Paths() {
			if key.Get(p[0].Name) != nil {
				return &expr.Error{Text: "One or more parameter values were invalid: Cannot update attribute " + p[0].Name + ". This attribute is part of the key"}
			}
		}
		return nil
	}
	d.key = &value.Value{Type: value.Map}
	for _, name := range names {
		v := d.item.Get(name)
		if v == nil {
			return &expr.Error{Text: "One or more parameter values were invalid: Missing the key " + name + " in the item"}
		}
		d.key.Members = append(d.key.Members, value.Member{Name: name, Value: *v})
	}
	return nil
}

// evaluate returns the effect of the write that a tool would send.
func (d *trial) evaluate(name string) (*effect, error) {
	e := &effect{DryRun: true}
	if d.condition != nil && !d.condition.Match(d.before()) {
		e.Outcome = "condition_fails"
		if d.old != nil {
			e.Before = d.old.AppendItem(nil)
		}
		return e, nil
	}
	after := d.item
	if d.update != nil {
		var err error
		if after, err = d.update.Apply(d.old, d.key); err != nil {
			return nil, err
		}
	}
	if after != nil && after.ItemSize() > maxItem {
		return nil, &expr.Error{Text: "Item size has exceeded the maximum allowed size"}
	}
	switch {
	case d.old == nil && after == nil || d.old != nil && after != nil && d.old.Equal(after):
		e.Outcome = "nothing"
	case after == nil:
		e.Outcome = "delete"
	case d.old == nil:
		e.Outcome = "create"
	case name == "put_item":
		e.Outcome = "replace"
	default:
		e.Outcome = "update"
	}
	e.compare(d.old, after)
	return e, nil
}

// before returns the item that the condition is evaluated with.
func (d *trial) before() *value.Value {
	if d.old == nil {
		return &value.Value{Type: value.Map}
	}
	return d.old
}

// compare sets the items and the names of the attributes that differ.
func (e *effect) compare(before, after *value.Value) {
	if before != nil {
		e.Before = before.AppendItem(nil)
		for _, m := range before.Members {
			switch v := after.Get(m.Name); {
			case v == nil:
				e.Removed = append(e.Removed, m.Name)
			case !v.Equal(&m.Value):
				e.Changed = append(e.Changed, m.Name)
			}
		}
	}
	if after != nil {
		e.After = after.AppendItem(nil)
		for _, m := range after.Members {
			if before.Get(m.Name) == nil {
				e.Added = append(e.Added, m.Name)
			}
		}
	}
}

// answer returns the effect, without the items if they are too long.
func (e *effect) answer() (answer, error) {
	const note = "Nothing was changed. Index keys, permissions and limits of the table are checked only by a real write."
	a, err := answerOf(e, note)
	if err == nil && len(a.body) > maxResult {
		e.Before, e.After = nil, nil
		a, err = answerOf(e, note+" The items are too long, and are left out.")
	}
	if err == nil && len(a.body) > maxResult {
		return answer{}, errTooLong(len(a.body), fmt.Sprintf("the outcome would be %s", e.Outcome))
	}
	return a, err
}
