package transfer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/kasoku/kasoku/internal/dynamo/transfer/creation"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// schema is a table to create.
type schema struct {
	place   string // the file, for messages
	base    string // the file's path without the endings of its name
	table   *table
	request []byte // of CreateTable
	expiry  string // attribute of the time to live, or ""
}

// maxSchema is the maximum length of a description.
const maxSchema = 4 << 20

// isSchema reports whether an object describes a table or its time to live.
func isSchema(object []byte) bool {
	names := []string{"Table", "KeySchema", "TimeToLiveDescription", "TimeToLiveSpecification", "TableDescription"}
	for it := wire.Object(object); it.Next(); {
		for _, name := range names {
			// An item may have an attribute with such a name: its value has a type.
			if _, _, item := wire.Attribute(it.Value()); wire.NameIs(it.Name(), name) && !item {
				return true
			}
		}
	}
	return false
}

// parseSchema reads the output of DescribeTable, or the input of CreateTable, as an object with
// Table or bare. The time to live may be beside it, as DescribeTimeToLive returns it or as
// UpdateTimeToLive takes it. An object with only a time to live has no table.
func parseSchema(place string, text []byte) (*schema, error) {
	if !wire.Valid(text, wire.MaxDepth) {
		return nil, syntaxError(place, text)
	}
	s := &schema{place: place, expiry: expiry(text)}
	description := json.RawMessage(text)
	for _, name := range []string{"Table", "TableDescription"} {
		if inner, ok := wire.Lookup(text, name); ok {
			description = inner
		}
	}
	if _, ok := wire.Lookup(description, "KeySchema"); !ok && s.expiry != "" {
		return s, nil
	}
	var err error
	if s.table, err = parseTable(description); err != nil {
		return nil, fmt.Errorf("%s: %w", place, err)
	}
	s.request, err = creation.Request(description)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", place, err)
	}
	return s, nil
}

// syntaxError returns the mistake in text that is not JSON, with its line.
func syntaxError(place string, text []byte) error {
	var v any
	err := json.Unmarshal(text, &v)
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		line := 1 + bytes.Count(text[:min(int(e.Offset), len(text))], []byte("\n"))
		return fmt.Errorf("%s:%d: is not JSON: %w", place, line, err)
	}
	return fmt.Errorf("%s: is not JSON, or nests too deeply", place)
}

// named returns the schema for a table with another name.
func (s *schema) named(name string) *schema {
	if s.table == nil || s.table.name == name {
		return s
	}
	other, t := *s, *s.table
	t.name = name
	other.table = &t
	quoted := wire.AppendQuoted(nil, []byte(name))
	other.request, _ = wire.SetMember(nil, s.request, "TableName", quoted) // an object without duplicates
	return &other
}

// endings are the endings of file names that are not part of a table's name. They are removed
// one after the other.
var endings = [][]string{
	{".gz"},
	{".json", ".jsonl", ".ndjson", ".ion", ".csv"},
	{".items", ".schema", ".ttl"},
}

// baseName returns the path of a file without endings, for example orders of
// orders.items.json.gz.
func baseName(path string) string {
	for _, list := range endings {
		for _, ending := range list {
			if before, ok := strings.CutSuffix(path, ending); ok {
				path = before
				break
			}
		}
	}
	return path
}
