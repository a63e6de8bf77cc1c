package transfer

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/kasoku/kasoku/internal/dynamo/value"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
	"github.com/kasoku/kasoku/internal/pause"
)

// table is a table of a store.
type table struct {
	name        string
	arn, id     string
	status      string
	items       int64 // an estimate
	keys        []keyAttribute
	types       map[string]value.Type // of the attributes of all keys, indexes included
	description json.RawMessage
}

// keyAttribute is an attribute of the primary key.
type keyAttribute struct {
	name string
	typ  value.Type
}

// keyNames returns the names of the key attributes.
func (t *table) keyNames() (names []string) {
	for _, k := range t.keys {
		names = append(names, k.name)
	}
	return names
}

// keyTypes are the types of key attributes by their names in JSON.
var keyTypes = map[string]value.Type{"S": value.String, "N": value.Number, "B": value.Binary}

// describedTable has the members of a description that this package reads.
type describedTable struct {
	TableName, TableArn, TableID, TableStatus string
	ItemCount                                 int64
	KeySchema                                 []keyElement
	AttributeDefinitions                      []struct{ AttributeName, AttributeType string }
}

type keyElement struct{ AttributeName, KeyType string }

// isTableName reports whether a table may have a name, which is the name of a file too.
func isTableName(name string) bool {
	for _, c := range []byte(name) {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' && c != '.' && c != '-' {
			return false
		}
	}
	return len(name) >= 3 && len(name) <= 255
}

// parseTable reads a description of a table, or the request that creates one.
func parseTable(description json.RawMessage) (*table, error) {
	var d describedTable
	if err := json.Unmarshal(description, &d); err != nil {
		return nil, fmt.Errorf("is no description of a table: %w", err)
	}
	t := &table{name: d.TableName, arn: d.TableArn, id: d.TableID, status: d.TableStatus, items: d.ItemCount,
		types: map[string]value.Type{}, description: description}
	for _, a := range d.AttributeDefinitions {
		t.types[a.AttributeName] = keyTypes[a.AttributeType]
	}
	for _, kind := range []string{"HASH", "RANGE"} {
		for _, k := range d.KeySchema {
			if k.KeyType == kind {
				t.keys = append(t.keys, keyAttribute{k.AttributeName, t.types[k.AttributeName]})
			}
		}
	}
	if t.name == "" || len(t.keys) == 0 || len(t.keys) > 2 || len(t.keys) != len(d.KeySchema) {
		return nil, fmt.Errorf("is no description of a table: it needs TableName, and KeySchema with one or two attributes")
	}
	if !isTableName(t.name) {
		return nil, fmt.Errorf("is no description of a table: %.300q is no name of a table", t.name)
	}
	for _, k := range t.keys {
		if k.typ == 0 {
			return nil, fmt.Errorf("is no description of a table: the key attribute %s is not in AttributeDefinitions", k.name)
		}
	}
	return t, nil
}

// onTable returns a request with TableName alone.
func onTable(name string) []byte {
	return append(wire.AppendQuoted([]byte(`{"TableName":`), []byte(name)), '}')
}

// describe returns a table, or nil if it does not exist.
func (c *caller) describe(ctx context.Context, name string) (*table, error) {
	answer, err := c.call(ctx, "DescribeTable", onTable(name))
	if errorType(err) == "ResourceNotFoundException" {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	description, _ := wire.Lookup(answer, "Table")
	t, err := parseTable(description)
	if err != nil {
		return nil, fmt.Errorf("%s: DescribeTable of %s: the answer %w", c.Name(), name, err)
	}
	return t, nil
}

// tables returns the names of all tables.
func (c *caller) tables(ctx context.Context) (names []string, err error) {
	body := []byte("{}")
	for {
		answer, err := c.call(ctx, "ListTables", body)
		if err != nil {
			return nil, err
		}
		var page struct {
			TableNames             []string
			LastEvaluatedTableName string
		}
		if err := json.Unmarshal(answer, &page); err != nil {
			return nil, fmt.Errorf("%s: ListTables: %w", c.Name(), err)
		}
		names = append(names, page.TableNames...)
		if page.LastEvaluatedTableName == "" {
			return names, nil
		}
		body = append(wire.AppendQuoted([]byte(`{"ExclusiveStartTableName":`), []byte(page.LastEvaluatedTableName)), '}')
	}
}

// timeToLive returns the name of the attribute with the expiry of items, or "" if nothing
// expires.
func (c *caller) timeToLive(ctx context.Context, name string) (attribute string, err error) {
	answer, err := c.call(ctx, "DescribeTimeToLive", onTable(name))
	if err != nil {
		return "", err
	}
	return expiry(answer), nil
}

// expiry returns the attribute of an enabled time to live in the text of a description or of
// a request.
func expiry(text json.RawMessage) string {
	var v struct {
		TimeToLiveDescription   struct{ AttributeName, TimeToLiveStatus string }
		TimeToLiveSpecification struct {
			AttributeName string
			Enabled       bool
		}
	}
	if json.Unmarshal(text, &v) != nil {
		return ""
	}
	if v.TimeToLiveSpecification.Enabled {
		return v.TimeToLiveSpecification.AttributeName
	}
	if s := v.TimeToLiveDescription.TimeToLiveStatus; s == "ENABLED" || s == "ENABLING" {
		return v.TimeToLiveDescription.AttributeName
	}
	return ""
}

// create creates a table, unless there is one with the same key, and waits until it can be
// written to. It reports whether it has created it.
func (c *caller) create(ctx context.Context, s *schema) (t *table, created bool, err error) {
	if t, err = c.describe(ctx, s.table.name); err != nil {
		return nil, false, err
	}
	if t == nil {
		if _, err = c.call(ctx, "CreateTable", s.request); err != nil && errorType(err) != "ResourceInUseException" {
			return nil, false, fmt.Errorf("create the table %s: %w", s.table.name, err)
		}
		created = true
	} else if got, want := t.keyText(), s.table.keyText(); got != want {
		return nil, false, fmt.Errorf("the table %s exists at %s with another key: %s, and %s has %s", t.name, c.Name(), got, s.place, want)
	}
	if t, err = c.active(ctx, s.table.name); err != nil {
		return nil, created, err
	}
	if created && s.expiry != "" {
		body := wire.AppendQuoted([]byte(`{"TableName":`), []byte(t.name))
		body = append(wire.AppendQuoted(append(body, `,"TimeToLiveSpecification":{"Enabled":true,"AttributeName":`...), []byte(s.expiry)), "}}"...)
		if _, err = c.call(ctx, "UpdateTimeToLive", body); err != nil {
			return nil, created, fmt.Errorf("set the time to live of %s: %w", t.name, err)
		}
	}
	return t, created, nil
}

const (
	// creationTimeout is the timeout for a new table to become active.
	creationTimeout = 10 * time.Minute
	creationPause   = 250 * time.Millisecond
)

// active returns a table as soon as it can be written to.
func (c *caller) active(ctx context.Context, name string) (*table, error) {
	for start := time.Now(); ; {
		t, err := c.describe(ctx, name)
		switch {
		case err != nil:
			return nil, err
		case t != nil && (t.status == "ACTIVE" || t.status == "UPDATING"):
			return t, nil
		case time.Since(start) > creationTimeout:
			return nil, fmt.Errorf("the table %s is not active after %s", name, creationTimeout)
		}
		if !pause.For(ctx, creationPause) {
			return nil, context.Cause(ctx)
		}
	}
}

// keyText returns the key with its types, for comparison and messages.
func (t *table) keyText() string {
	var text bytes.Buffer
	for i, k := range t.keys {
		if i > 0 {
			text.WriteString(", ")
		}
		fmt.Fprintf(&text, "%s %s", k.name, k.typ)
	}
	return text.String()
}
