package mcp

import (
	"context"
	"errors"
)

// writeTools returns the tools that write items.
func writeTools() []*tool {
	return []*tool{
		{name: "put_item", operation: "PutItem", run: change,
			help: "Create an item, or replace the whole item with the same key. With dry_run it evaluates the condition by reading and reports the effect.",
			arguments: []argument{tableName,
				{"item", "Item", attributesKind, true, "The whole item with its key as DynamoDB JSON, such as {\"id\":{\"S\":\"7\"},\"n\":{\"N\":\"1\"}}, or plain JSON: {\"id\":\"7\",\"n\":1}. " +
					"Sets and bytes need DynamoDB JSON."},
				condition, nameMap, valueMap, dryRun}},
		{name: "update_item", operation: "UpdateItem", changes: true, run: change,
			help: "Change attributes of an item, or create it. With dry_run it reads the item and reports the effect.",
			arguments: []argument{tableName, itemKey,
				{"update_expression", "UpdateExpression", textKind, true, "The change, such as SET #s = :s, n = n + :one REMOVE old."},
				condition, nameMap, valueMap, dryRun}},
		{name: "delete_item", operation: "DeleteItem", changes: true, run: change,
			help:      "Delete an item by its whole primary key. With dry_run it reads the item and reports the effect.",
			arguments: []argument{tableName, itemKey, condition, nameMap, valueMap, dryRun}},
	}
}

// change writes an item, or reports the effect.
func change(ctx context.Context, s *Server, t *tool, args arguments) (answer, error) {
	_, given := args["dry_run"]
	switch {
	case args.flag("dry_run") || !given && !s.o.Write:
		return s.dryRun(ctx, t, args)
	case !s.o.Write:
		return answer{}, errors.New("this server was started without --write, and accepts only dry_run")
	}
	return s.write(ctx, t, args)
}

// write sends a write to the store. Its outcome is awaited even if the client cancels the call.
func (s *Server) write(ctx context.Context, t *tool, args arguments) (answer, error) {
	members := t.request(args)
	body, err := s.call(context.WithoutCancel(ctx), t.operation, members)
	s.o.Log.Info("write", "operation", t.operation, "table", text(args["table_name"]), "error", err)
	switch {
	case err != nil:
		return answer{}, err
	case len(body) > maxResult:
		return answer{body: []byte("{}"), note: "The write has succeeded. Its result is too long, and is left out."}, nil
	}
	return answer{body: body, note: "The write has succeeded."}, nil
}
