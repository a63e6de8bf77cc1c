package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// argument is an argument of a tool.
type argument struct {
	name     string
	member   string // in the request to the store; empty if it is not sent
	kind     kind
	required bool
	help     string
}

// kind is a kind of arguments.
type kind struct {
	schema map[string]any
	// read checks an argument and returns it as the store gets it.
	read func(raw json.RawMessage) (json.RawMessage, error)
}

// maxLimit is the maximum number of items of a page.
const maxLimit = 1000

var (
	textKind = kind{map[string]any{"type": "string"}, func(raw json.RawMessage) (json.RawMessage, error) {
		var text string
		if json.Unmarshal(raw, &text) != nil || text == "" {
			return nil, errors.New("must be a string that is not empty")
		}
		return raw, nil
	}}
	flagKind = kind{map[string]any{"type": "boolean"}, func(raw json.RawMessage) (json.RawMessage, error) {
		if text := string(raw); text != "true" && text != "false" {
			return nil, errors.New("must be true or false")
		}
		return raw, nil
	}}
	limitKind = kind{map[string]any{"type": "integer", "minimum": 1, "maximum": maxLimit}, func(raw json.RawMessage) (json.RawMessage, error) {
		var n int
		if json.Unmarshal(raw, &n) != nil || n < 1 || n > maxLimit {
			return nil, fmt.Errorf("must be a number from 1 to %d", maxLimit)
		}
		return raw, nil
	}}
	namesKind = kind{map[string]any{"type": "object", "additionalProperties": map[string]any{"type": "string"}}, func(raw json.RawMessage) (json.RawMessage, error) {
		var names map[string]string
		if json.Unmarshal(raw, &names) != nil {
			return nil, errors.New("must be an object of strings, such as {\"#n\":\"name\"}")
		}
		return raw, nil
	}}
	objectKind = kind{map[string]any{"type": "object"}, func(raw json.RawMessage) (json.RawMessage, error) {
		var members map[string]json.RawMessage
		if json.Unmarshal(raw, &members) != nil {
			return nil, errors.New("must be an object")
		}
		return raw, nil
	}}
	attributesKind = kind{map[string]any{"type": "object"}, attributes}
	valuesKind     = kind{map[string]any{"type": "array"}, values}
)

// oneOf is the kind of texts from a list.
func oneOf(list ...string) kind {
	return kind{map[string]any{"type": "string", "enum": list}, func(raw json.RawMessage) (json.RawMessage, error) {
		var text string
		if json.Unmarshal(raw, &text) != nil || !slices.Contains(list, text) {
			return nil, fmt.Errorf("must be one of %s", strings.Join(list, ", "))
		}
		return raw, nil
	}}
}

// arguments are the arguments of a call, checked and as the store gets them.
type arguments map[string]json.RawMessage

// text returns the value of a JSON string, or "".
func text(raw json.RawMessage) (value string) {
	if raw != nil {
		_ = json.Unmarshal(raw, &value) // read has checked it
	}
	return value
}

// flag returns an argument of flagKind, or false.
func (a arguments) flag(name string) bool { return string(a[name]) == "true" }

// number returns an argument of limitKind, or another number if there is none.
func (a arguments) number(name string, otherwise int) int {
	if raw, ok := a[name]; ok {
		_ = json.Unmarshal(raw, &otherwise) // read has checked it
	}
	return otherwise
}
