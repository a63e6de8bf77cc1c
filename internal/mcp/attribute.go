package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// types are the names of types in DynamoDB's JSON.
var types = []string{"S", "N", "B", "BOOL", "NULL", "SS", "NS", "BS", "L", "M"}

// decode reads JSON and keeps the text of numbers.
func decode(raw json.RawMessage, v any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	return d.Decode(v)
}

// attributes translates an object of attribute values.
func attributes(raw json.RawMessage) (json.RawMessage, error) {
	var members map[string]any
	if err := decode(raw, &members); err != nil || members == nil {
		return nil, fmt.Errorf("must be an object of attribute values, such as {\"id\":{\"S\":\"7\"}}")
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		v, err := attribute(members[name])
		if err != nil {
			return nil, fmt.Errorf("%q: %w", name, err)
		}
		members[name] = v
	}
	return json.Marshal(members)
}

// values translates an array of attribute values.
func values(raw json.RawMessage) (json.RawMessage, error) {
	var list []any
	if err := decode(raw, &list); err != nil || list == nil {
		return nil, fmt.Errorf("must be an array of attribute values, such as [{\"S\":\"7\"}]")
	}
	for i, v := range list {
		var err error
		if list[i], err = attribute(v); err != nil {
			return nil, fmt.Errorf("element %d: %w", i, err)
		}
	}
	return json.Marshal(list)
}

// attribute returns an attribute value as DynamoDB JSON. An object whose only member has the
// name of a type is DynamoDB JSON already; everything else is plain JSON and is translated.
func attribute(v any) (any, error) {
	switch v := v.(type) {
	case nil:
		return map[string]any{"NULL": true}, nil
	case bool:
		return map[string]any{"BOOL": v}, nil
	case string:
		return map[string]any{"S": v}, nil
	case json.Number:
		return map[string]any{"N": v.String()}, nil
	case []any:
		list := make([]any, len(v))
		for i := range v {
			var err error
			if list[i], err = attribute(v[i]); err != nil {
				return nil, err
			}
		}
		return map[string]any{"L": list}, nil
	case map[string]any:
		return object(v)
	}
	return nil, fmt.Errorf("%v is not JSON", v) // decode returns no other types
}

// object translates an object within a value.
func object(v map[string]any) (any, error) {
	names := slices.Sorted(maps.Keys(v))
	typed := 0
	for _, name := range names {
		if slices.Contains(types, name) {
			typed++
		}
	}
	switch {
	case typed == 1 && len(names) == 1:
		return v, nil
	case typed > 1 && typed == len(names):
		return nil, fmt.Errorf("an attribute value has one type, and this has %s; a plain object with these names must be written as {\"M\":...}", strings.Join(names, ", "))
	}
	members := make(map[string]any, len(v))
	for _, name := range names {
		var err error
		if members[name], err = attribute(v[name]); err != nil {
			return nil, err
		}
	}
	return map[string]any{"M": members}, nil
}
