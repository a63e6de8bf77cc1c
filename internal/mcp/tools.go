package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// tool is a tool that the server may offer.
type tool struct {
	name      string
	operation string // of DynamoDB; empty for the admin API
	help      string
	arguments []argument
	changes   bool // needs permission to write
	admin     bool // uses the admin API
	whole     bool // concerns all tables
	run       run
}

// run is the function of a tool, which is called with arguments that have been checked.
type run func(ctx context.Context, s *Server, t *tool, args arguments) (answer, error)

// description returns the tool for the client.
func (t *tool) description(o *Options) *sdk.Tool {
	destructive, closed := t.changes, false
	if t.name == "execute_statement" || t.name == "put_item" {
		destructive = o.Write
	}
	help := t.help
	if t.name == "execute_statement" && !o.Write {
		help += " This server accepts only SELECT."
	}
	if t.name == "put_item" && !o.Write {
		help += " This server accepts only dry runs."
	}
	return &sdk.Tool{Name: t.name, Description: help, InputSchema: t.schema(),
		Annotations: &sdk.ToolAnnotations{ReadOnlyHint: !destructive, DestructiveHint: &destructive, OpenWorldHint: &closed}}
}

// read checks the arguments of a call. A null counts as no argument.
func (t *tool) read(raw json.RawMessage) (arguments, error) {
	given := map[string]json.RawMessage{}
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &given); err != nil {
			return nil, fmt.Errorf("the arguments of %s must be an object", t.name)
		}
	}
	args := arguments{}
	var known []string
	for _, a := range t.arguments {
		known = append(known, a.name)
		v, ok := given[a.name]
		delete(given, a.name)
		if !ok || string(v) == "null" {
			if a.required {
				return nil, fmt.Errorf("%s needs the argument %s: %s", t.name, a.name, a.help)
			}
			continue
		}
		var err error
		if args[a.name], err = a.kind.read(v); err != nil {
			return nil, fmt.Errorf("argument %s: %w", a.name, err)
		}
	}
	if len(given) > 0 {
		return nil, fmt.Errorf("%s has no argument %s; it has %s", t.name,
			strings.Join(slices.Sorted(maps.Keys(given)), ", "), strings.Join(known, ", "))
	}
	return args, nil
}

// schema returns the JSON schema of the arguments.
func (t *tool) schema() map[string]any {
	properties, required := map[string]any{}, []string{}
	for _, a := range t.arguments {
		p := maps.Clone(a.kind.schema)
		p["description"] = a.help
		properties[a.name] = p
		if a.required {
			required = append(required, a.name)
		}
	}
	return map[string]any{"type": "object", "properties": properties, "required": required, "additionalProperties": false}
}

// request returns the members of the request to the store.
func (t *tool) request(args arguments) map[string]json.RawMessage {
	members := map[string]json.RawMessage{}
	for _, a := range t.arguments {
		if v, ok := args[a.name]; ok && a.member != "" {
			members[a.member] = v
		}
	}
	return members
}

// tools returns all tools.
func tools() []*tool {
	all := append(readTools(), statementTool())
	all = append(all, writeTools()...)
	return append(all, adminTools()...)
}

// Arguments that several tools have.
var (
	tableName = argument{"table_name", "TableName", textKind, true, "The name of the table."}
	itemKey   = argument{"key", "Key", attributesKind, true,
		"The whole primary key as DynamoDB JSON, such as {\"pk\":{\"S\":\"a\"},\"sk\":{\"N\":\"1\"}}, or plain JSON: {\"pk\":\"a\",\"sk\":1}."}
	nameMap = argument{"expression_attribute_names", "ExpressionAttributeNames", namesKind, false,
		"Names of attributes for placeholders in expressions, such as {\"#n\":\"name\"}."}
	valueMap = argument{"expression_attribute_values", "ExpressionAttributeValues", attributesKind, false,
		"Values for placeholders in expressions, such as {\":v\":{\"S\":\"a\"}}, or plain JSON: {\":v\":\"a\"}."}
	projection = argument{"projection_expression", "ProjectionExpression", textKind, false,
		"The attributes to return, such as id, #n, address.city. Default: all."}
	consistent = argument{"consistent_read", "ConsistentRead", flagKind, false, "Read consistently. Default: false."}
	condition  = argument{"condition_expression", "ConditionExpression", textKind, false,
		"A condition on the item as it is before, such as attribute_not_exists(pk)."}
	dryRun = argument{"dry_run", "", flagKind, false,
		"Report the effect and change nothing. Default: false if this server may write, otherwise true."}
)
