package mcp

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

const (
	standardLimit  = 25  // items of a page
	standardTables = 100 // names of list_tables
	// maxTablePages is the maximum number of requests for the names of tables.
	maxTablePages = 200
)

// pageArguments are the arguments that query and scan share.
func pageArguments() []argument {
	return []argument{
		{"index_name", "IndexName", textKind, false, "The secondary index to read. Default: the table."},
		{"filter_expression", "FilterExpression", textKind, false, "A condition that items must satisfy, applied after limit."},
		projection, nameMap, valueMap, consistent,
		{"limit", "Limit", limitKind, false, fmt.Sprintf("The maximum number of items to read. Default: %d.", standardLimit)},
		{"exclusive_start_key", "ExclusiveStartKey", attributesKind, false, "The LastEvaluatedKey of an earlier result, to continue after it."},
	}
}

// readTools returns the tools that read tables and items.
func readTools() []*tool {
	queries := []argument{tableName,
		{"key_condition_expression", "KeyConditionExpression", textKind, true, "The partition key and optionally a range of the sort key, such as pk = :p AND begins_with(sk, :s)."}}
	queries = append(queries, pageArguments()...)
	queries = append(queries, argument{"scan_index_forward", "ScanIndexForward", flagKind, false, "Ascending order of the sort key. Default: true."})
	return []*tool{
		{name: "list_tables", operation: "ListTables", help: "List the names of tables.", run: listTables, arguments: []argument{
			{"limit", "", limitKind, false, fmt.Sprintf("The maximum number of names. Default: %d.", standardTables)},
			{"exclusive_start_table_name", "", textKind, false, "The LastEvaluatedTableName of an earlier result, to continue after it."}}},
		{name: "describe_table", operation: "DescribeTable", run: single("it can't be shortened"), arguments: []argument{tableName},
			help: "Describe a table: its key schema, secondary indexes, attribute types, number of items and size."},
		{name: "get_item", operation: "GetItem", run: single("choose attributes with projection_expression"),
			help: "Read one item by its whole primary key.", arguments: []argument{tableName, itemKey, projection, nameMap, consistent}},
		{name: "query", operation: "Query", run: page, arguments: queries,
			help: "Read items with the same partition key, of a table or an index, in the order of the sort key."},
		{name: "scan", operation: "Scan", run: page, arguments: append([]argument{tableName}, pageArguments()...),
			help: "Read items of a table or an index in no particular order. It reads everything, so prefer query for a known key."},
	}
}

// call sends an operation to the store.
func (s *Server) call(ctx context.Context, operation string, members map[string]json.RawMessage) ([]byte, error) {
	body, err := json.Marshal(members)
	if err != nil {
		return nil, err
	}
	return s.o.Store.Call(ctx, operation, body)
}

// single returns the function of a tool whose result has one part. hint is for results that
// are too long.
func single(hint string) run {
	return func(ctx context.Context, s *Server, t *tool, args arguments) (answer, error) {
		body, err := s.call(ctx, t.operation, t.request(args))
		if err != nil {
			return answer{}, err
		}
		if len(body) > maxResult {
			return answer{}, errTooLong(len(body), hint)
		}
		a := answer{body: body}
		if _, found := wire.Lookup(body, "Item"); t.name == "get_item" && !found {
			a.note = "There is no item with this key."
		}
		return a, nil
	}
}

// page reads a page of items.
func page(ctx context.Context, s *Server, t *tool, args arguments) (answer, error) {
	return s.page(ctx, t.operation, t.request(args), args.number("limit", standardLimit), "LastEvaluatedKey", "exclusive_start_key")
}

// page requests a page of at most limit items. A page that is too long is requested again
// with a lower limit, so that the store determines where the next one begins. last is the
// member of the answer with that place, and next the argument that continues there.
func (s *Server) page(ctx context.Context, operation string, members map[string]json.RawMessage, limit int, last, next string) (answer, error) {
	for {
		members["Limit"], _ = json.Marshal(limit)
		body, err := s.call(ctx, operation, members)
		if err != nil {
			return answer{}, err
		}
		place, more := wire.Lookup(body, last)
		if len(body) <= maxResult {
			a := answer{body: body}
			if more {
				a.note = fmt.Sprintf("There may be more items: call again with %s set to %s.", next, last)
			}
			return a, nil
		}
		if limit == 1 {
			hint := "choose fewer attributes"
			if more && len(place) < maxResult/2 {
				hint += fmt.Sprintf(", or continue after this item with %s set to %s", next, place)
			}
			return answer{}, errTooLong(len(body), hint)
		}
		limit = max(1, min(limit/2, limit*maxResult/len(body)))
	}
}

// listTables returns the names of visible tables.
func listTables(ctx context.Context, s *Server, _ *tool, args arguments) (answer, error) {
	limit := args.number("limit", standardTables)
	start := text(args["exclusive_start_table_name"])
	names := []string{}
	size := 0
	for range maxTablePages {
		request := map[string]json.RawMessage{}
		if start != "" {
			request["ExclusiveStartTableName"], _ = json.Marshal(start)
		}
		body, err := s.call(ctx, "ListTables", request)
		if err != nil {
			return answer{}, err
		}
		var list struct {
			TableNames             []string
			LastEvaluatedTableName string
		}
		if err := json.Unmarshal(body, &list); err != nil {
			return answer{}, fmt.Errorf("the answer of ListTables is malformed: %w", err)
		}
		for _, name := range list.TableNames {
			if !s.visible(name) {
				continue
			}
			// The place to continue from is a visible name, not the store's.
			if len(names) == limit || size > maxResult/2 {
				return answerOf(map[string]any{"TableNames": names, "LastEvaluatedTableName": names[len(names)-1]},
					"There are more tables: call again with exclusive_start_table_name set to LastEvaluatedTableName.")
			}
			names, size = append(names, name), size+len(name)
		}
		if start = list.LastEvaluatedTableName; start == "" {
			return answerOf(map[string]any{"TableNames": names}, "")
		}
	}
	return answer{}, fmt.Errorf("the store has too many tables to list; %d of the first ones are visible", len(names))
}
