package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/kasoku/kasoku/internal/admin"
	"github.com/kasoku/kasoku/internal/dynamo/transfer"
)

// stub is a store whose answers are given by operation.
type stub struct {
	answers map[string]string
	sent    []string // operations with their bodies
}

func (s *stub) Call(_ context.Context, operation string, body []byte) ([]byte, error) {
	s.sent = append(s.sent, operation+" "+string(body))
	if text, ok := s.answers[operation]; ok {
		return []byte(text), nil
	}
	return nil, &transfer.ServiceError{Status: 400, Type: "ResourceNotFoundException", Message: "Requested resource not found"}
}

// stubAdmin is an admin API.
type stubAdmin struct{ sent []string }

func (s *stubAdmin) Explain(_ context.Context, operation string, body json.RawMessage) (admin.Explanation, error) {
	s.sent = append(s.sent, operation+" "+string(body))
	return admin.Explanation{Decision: "hit"}, nil
}

func (s *stubAdmin) Store(_ context.Context, action, snapshot string) (admin.StoreContents, error) {
	s.sent = append(s.sent, action+" "+snapshot)
	return admin.StoreContents{Service: "db", Tables: []string{"hidden"}, Snapshots: []admin.StoreSnapshot{{Name: "one"}}}, nil
}

func (s *stubAdmin) Report(context.Context) (admin.ReportJSON, error) {
	return admin.ReportJSON{Version: "1", Services: []admin.ServiceJSON{{Name: "db", Ready: true, Report: admin.Report{Notes: []string{"hidden"}}}}}, nil
}

// connect returns a client of a server.
func connect(t *testing.T, o Options) *sdk.ClientSession {
	t.Helper()
	o.Log = slog.New(slog.DiscardHandler)
	near, far := sdk.NewInMemoryTransports()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = New(o).Serve(ctx, far)
	}()
	client, err := sdk.NewClient(&sdk.Implementation{Name: "test"}, nil).Connect(ctx, near, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		client.Close()
		cancel()
		<-ended
	})
	return client
}

// ask calls a tool and returns its text, with "error: " before that of an error.
func ask(t *testing.T, client *sdk.ClientSession, tool, args string) string {
	t.Helper()
	r, err := client.CallTool(context.Background(), &sdk.CallToolParams{Name: tool, Arguments: json.RawMessage(args)})
	if err != nil {
		return "protocol error: " + err.Error()
	}
	var parts []string
	for _, c := range r.Content {
		parts = append(parts, c.(*sdk.TextContent).Text)
	}
	text := strings.Join(parts, "\n")
	if r.IsError {
		text = "error: " + text
	}
	return text
}

func TestOfferedTools(t *testing.T) {
	f := func(o Options, want string) {
		t.Helper()
		o.Store = &stub{}
		list, err := connect(t, o).ListTools(context.Background(), nil)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, tool := range list.Tools {
			names = append(names, tool.Name)
			if tool.Description == "" || tool.Annotations.ReadOnlyHint == *tool.Annotations.DestructiveHint || !o.Write && !tool.Annotations.ReadOnlyHint {
				t.Errorf("%s: description %q, annotations %+v", tool.Name, tool.Description, tool.Annotations)
			}
			for name, p := range tool.InputSchema.(map[string]any)["properties"].(map[string]any) {
				if p.(map[string]any)["description"] == "" {
					t.Errorf("%s: argument %s has no description", tool.Name, name)
				}
			}
		}
		slices.Sort(names)
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%+v: tools %s\nwant %s", o, got, want)
		}
	}
	const read = "describe_table execute_statement get_item list_tables put_item query scan"
	f(Options{}, read)
	f(Options{Write: true}, "delete_item describe_table execute_statement get_item list_tables put_item query scan update_item")
	f(Options{Admin: &stubAdmin{}}, "describe_table execute_statement explain get_item list_snapshots list_tables put_item query report scan")
	f(Options{Admin: &stubAdmin{}, Write: true},
		"delete_item describe_table execute_statement explain get_item list_snapshots list_tables put_item query report restore scan snapshot update_item")
	f(Options{Admin: &stubAdmin{}, Write: true, Tables: []string{"a"}},
		"delete_item describe_table execute_statement explain get_item list_snapshots list_tables put_item query report scan update_item")
}

// TestRequests checks the requests to the store, and the results.
func TestRequests(t *testing.T) {
	f := func(write bool, tool, args, answer, sent, want string) {
		t.Helper()
		st := &stub{}
		if answer != "" {
			st.answers = map[string]string{strings.Fields(sent)[0]: answer}
		}
		got := ask(t, connect(t, Options{Store: st, Write: write}), tool, args)
		if got != want {
			t.Errorf("%s %s: %s\nwant %s", tool, args, got, want)
		}
		if all := strings.Join(st.sent, "\n"); all != sent {
			t.Errorf("%s %s sends %s\nwant %s", tool, args, all, sent)
		}
	}
	const missing = "error: ResourceNotFoundException: Requested resource not found"
	f(false, "describe_table", `{"table_name":"t"}`, `{"Table":{}}`, `DescribeTable {"TableName":"t"}`, `{"Table":{}}`)
	f(false, "describe_table", `{"table_name":"t"}`, "", `DescribeTable {"TableName":"t"}`, missing)
	f(false, "get_item", `{"table_name":"t","key":{"p":"a"},"consistent_read":true,"projection_expression":null}`, `{"Item":{"p":{"S":"a"}}}`,
		`GetItem {"ConsistentRead":true,"Key":{"p":{"S":"a"}},"TableName":"t"}`, `{"Item":{"p":{"S":"a"}}}`)
	f(false, "get_item", `{"table_name":"t","key":{"p":{"N":"1"}}}`, `{}`, `GetItem {"Key":{"p":{"N":"1"}},"TableName":"t"}`,
		"{}\nThere is no item with this key.")
	f(false, "query", `{"table_name":"t","index_name":"i","key_condition_expression":"p = :p","expression_attribute_values":{":p":7},"scan_index_forward":false}`,
		`{"Items":[],"LastEvaluatedKey":{"p":{"N":"7"}}}`,
		`Query {"ExpressionAttributeValues":{":p":{"N":"7"}},"IndexName":"i","KeyConditionExpression":"p = :p","Limit":25,"ScanIndexForward":false,"TableName":"t"}`,
		`{"Items":[],"LastEvaluatedKey":{"p":{"N":"7"}}}`+"\nThere may be more items: call again with exclusive_start_key set to LastEvaluatedKey.")
	f(false, "scan", `{"table_name":"t","limit":2,"exclusive_start_key":{"p":{"N":"7"}}}`, `{"Items":[]}`,
		`Scan {"ExclusiveStartKey":{"p":{"N":"7"}},"Limit":2,"TableName":"t"}`, `{"Items":[]}`)
	f(false, "execute_statement", `{"statement":"SELECT * FROM t WHERE p = ?","parameters":["a"]}`, `{"Items":[],"NextToken":"x"}`,
		`ExecuteStatement {"Limit":25,"Parameters":[{"S":"a"}],"Statement":"SELECT * FROM t WHERE p = ?"}`,
		`{"Items":[],"NextToken":"x"}`+"\nThere may be more items: call again with next_token set to NextToken.")
	f(true, "execute_statement", `{"statement":"DELETE FROM t WHERE p = 'a'"}`, `{}`,
		`ExecuteStatement {"Statement":"DELETE FROM t WHERE p = 'a'"}`, "{}\nThe write has succeeded.")
	f(true, "put_item", `{"table_name":"t","item":{"p":"a","n":[1,null,{"x":true}]},"condition_expression":"attribute_not_exists(p)"}`, `{}`,
		`PutItem {"ConditionExpression":"attribute_not_exists(p)","Item":{"n":{"L":[{"N":"1"},{"NULL":true},{"M":{"x":{"BOOL":true}}}]},"p":{"S":"a"}},"TableName":"t"}`,
		"{}\nThe write has succeeded.")
	f(true, "update_item", `{"table_name":"t","key":{"p":"a"},"update_expression":"REMOVE n","dry_run":false}`, "",
		`UpdateItem {"Key":{"p":{"S":"a"}},"TableName":"t","UpdateExpression":"REMOVE n"}`, missing)
	f(true, "delete_item", `{"table_name":"t","key":{"p":"a"}}`, `{}`, `DeleteItem {"Key":{"p":{"S":"a"}},"TableName":"t"}`, "{}\nThe write has succeeded.")
}

// TestRefusals checks calls that send nothing to the store.
func TestRefusals(t *testing.T) {
	f := func(tool, args, want string) {
		t.Helper()
		st, a := &stub{}, &stubAdmin{}
		got := ask(t, connect(t, Options{Store: st, Admin: a, Tables: []string{"orders*", "x?"}}), tool, args)
		if !strings.Contains(got, want) {
			t.Errorf("%s %s: %s\nwant %s", tool, args, got, want)
		}
		if len(st.sent)+len(a.sent) > 0 {
			t.Errorf("%s %s sends %s %s", tool, args, st.sent, a.sent)
		}
	}
	f("drop_table", `{}`, `protocol error: `)
	f("delete_item", `{"table_name":"orders","key":{"p":"a"}}`, `protocol error: `)
	f("describe_table", `[]`, "error: the arguments of describe_table must be an object")
	f("describe_table", `{}`, "error: describe_table needs the argument table_name: The name of the table.")
	f("describe_table", `{"table_name":""}`, "error: argument table_name: must be a string that is not empty")
	f("describe_table", `{"TableName":"orders","table_name":"orders"}`, "error: describe_table has no argument TableName; it has table_name")
	f("scan", `{"table_name":"orders","limit":0}`, "error: argument limit: must be a number from 1 to 1000")
	f("scan", `{"table_name":"orders","limit":1001}`, "error: argument limit: must be a number from 1 to 1000")
	f("scan", `{"table_name":"orders","consistent_read":"yes"}`, "error: argument consistent_read: must be true or false")
	f("get_item", `{"table_name":"orders","key":"a"}`, "error: argument key: must be an object of attribute values")
	f("get_item", `{"table_name":"orders","key":{"p":{"S":"a","N":"1"}}}`, `error: argument key: "p": an attribute value has one type, and this has N, S`)
	f("query", `{"table_name":"orders","key_condition_expression":"p = :p","expression_attribute_names":{"#n":1}}`, "error: argument expression_attribute_names: must be an object of strings")
	f("execute_statement", `{"statement":"SELECT * FROM orders","parameters":{}}`, "error: argument parameters: must be an array of attribute values")
	f("explain", `{"tool":"put_item","arguments":{}}`, "error: argument tool: must be one of get_item, query, scan")
	f("explain", `{"tool":"scan","arguments":{"table":"orders"}}`, "error: scan needs the argument table_name")

	const invisible = `is not visible: this server was started for tables that match orders*, x?`
	f("get_item", `{"table_name":"users","key":{"p":"a"}}`, `error: table "users" `+invisible)
	f("get_item", `{"table_name":"arn:aws:dynamodb:eu-west-1:123456789012:table/users","key":{"p":"a"}}`, invisible)
	f("get_item", `{"table_name":"orders/../users","key":{"p":"a"}}`, invisible)
	f("put_item", `{"table_name":"xyz","item":{"p":"a"}}`, invisible)
	f("execute_statement", `{"statement":"SELECT * FROM \"users\".\"i\""}`, `error: table "users" `+invisible)
	f("explain", `{"tool":"scan","arguments":{"table_name":"users"}}`, invisible)

	f("execute_statement", `{"statement":"DELETE FROM orders WHERE p = 'a'"}`, "error: this server was started without --write, and accepts only SELECT")
	f("execute_statement", `{"statement":"SELECT * FROM orders -- x"}`, "error: the kind or the table of the statement is not certain")
	f("put_item", `{"table_name":"orders","item":{"p":"a"},"dry_run":false}`, "error: this server was started without --write, and accepts only dry_run")
}

// TestLongPage checks that a page that is too long is requested again with a lower limit.
func TestLongPage(t *testing.T) {
	var limits []int
	st := storeFunc(func(_ string, body []byte) string {
		var r struct{ Limit int }
		if err := json.Unmarshal(body, &r); err != nil {
			t.Error(err)
		}
		limits = append(limits, r.Limit)
		item := `{"p":{"S":"` + strings.Repeat("x", 10_000) + `"}}`
		return `{"Items":[` + strings.Repeat(item+",", r.Limit-1) + item + `],"LastEvaluatedKey":{"p":{"S":"z"}}}`
	})
	got := ask(t, connect(t, Options{Store: st}), "scan", `{"table_name":"t"}`)
	if len(got) > maxResult+200 || !strings.Contains(got, "exclusive_start_key set to LastEvaluatedKey") || !slices.Equal(limits, []int{25, 6}) {
		t.Errorf("%d bytes, limits %v", len(got), limits)
	}
}

func TestLongItem(t *testing.T) {
	long := `{"p":{"S":"` + strings.Repeat("x", maxResult) + `"}}`
	st := &stub{answers: map[string]string{"GetItem": `{"Item":` + long + `}`, "Query": `{"Items":[` + long + `],"LastEvaluatedKey":{"p":{"S":"z"}}}`}}
	client := connect(t, Options{Store: st})
	f := func(tool, args, want string) {
		t.Helper()
		if got := ask(t, client, tool, args); !strings.Contains(got, want) || len(got) > 1000 {
			t.Errorf("%s: %.1000s\nwant %s", tool, got, want)
		}
	}
	f("get_item", `{"table_name":"t","key":{"p":"a"}}`, "error: the result has 65559 bytes, more than the limit of 65536: choose attributes with projection_expression")
	f("query", `{"table_name":"t","key_condition_expression":"p = :p"}`, `or continue after this item with exclusive_start_key set to {"p":{"S":"z"}}`)
}

// storeFunc is a store whose answers are computed.
type storeFunc func(operation string, body []byte) string

func (f storeFunc) Call(_ context.Context, operation string, body []byte) ([]byte, error) {
	return []byte(f(operation, body)), nil
}

// TestListTables checks the names on several pages, of which some are not visible.
func TestListTables(t *testing.T) {
	st := storeFunc(func(_ string, body []byte) string {
		var r struct{ ExclusiveStartTableName string }
		if err := json.Unmarshal(body, &r); err != nil {
			t.Error(err)
		}
		var rest []string
		for _, name := range []string{"a1", "b1", "a2", "b2", "a3", "b3"} {
			if r.ExclusiveStartTableName == "" || strings.Compare(name[1:]+name[:1], r.ExclusiveStartTableName[1:]+r.ExclusiveStartTableName[:1]) > 0 {
				rest = append(rest, `"`+name+`"`)
			}
		}
		if len(rest) <= 2 {
			return `{"TableNames":[` + strings.Join(rest, ",") + `]}`
		}
		return fmt.Sprintf(`{"TableNames":[%s,%s],"LastEvaluatedTableName":%s}`, rest[0], rest[1], rest[1])
	})
	f := func(tables []string, args, want string) {
		t.Helper()
		got, _, _ := strings.Cut(ask(t, connect(t, Options{Store: st, Tables: tables}), "list_tables", args), "\n")
		if got != want {
			t.Errorf("%s of %s: %s, want %s", args, tables, got, want)
		}
	}
	f(nil, `{}`, `{"TableNames":["a1","b1","a2","b2","a3","b3"]}`)
	f(nil, `{"limit":3}`, `{"LastEvaluatedTableName":"a2","TableNames":["a1","b1","a2"]}`)
	f([]string{"a*"}, `{}`, `{"TableNames":["a1","a2","a3"]}`)
	f([]string{"a*"}, `{"limit":2}`, `{"LastEvaluatedTableName":"a2","TableNames":["a1","a2"]}`)
	f([]string{"a*"}, `{"exclusive_start_table_name":"a2"}`, `{"TableNames":["a3"]}`)
	f([]string{"b?"}, `{"limit":3}`, `{"TableNames":["b1","b2","b3"]}`)
	f([]string{"c*"}, `{}`, `{"TableNames":[]}`)
}

func TestAdminTools(t *testing.T) {
	a := &stubAdmin{}
	open := connect(t, Options{Store: &stub{}, Admin: a, Write: true})
	restricted := connect(t, Options{Store: &stub{}, Admin: a, Tables: []string{"orders"}})
	f := func(client *sdk.ClientSession, tool, args, want string) {
		t.Helper()
		if got := ask(t, client, tool, args); !strings.Contains(got, want) || strings.Contains(got, "hidden") {
			t.Errorf("%s: %s, want %s", tool, got, want)
		}
	}
	f(open, "explain", `{"tool":"query","arguments":{"table_name":"t","key_condition_expression":"p = :p","limit":3}}`, `{"decision":"hit"`)
	f(open, "snapshot", `{"name":"one"}`, `{"service":"db","snapshots":[{"name":"one"`)
	f(open, "restore", `{"name":"one"}`, `"snapshots"`)
	f(restricted, "list_snapshots", `{}`, `{"service":"db","snapshots":[{"name":"one"`)
	f(restricted, "report", `{}`, `"services":[{"name":"db","type":"","ready":true,"hit_ratio":null`)
	want := "Query {\"KeyConditionExpression\":\"p = :p\",\"Limit\":3,\"TableName\":\"t\"}\nsnapshot one\nrestore one\nlist "
	if got := strings.Join(a.sent, "\n"); got != want {
		t.Errorf("sent %s\nwant %s", got, want)
	}
}
