package mcp

import (
	"strings"
	"testing"
)

func TestDryRun(t *testing.T) {
	f := func(tool, args, item, want string) {
		t.Helper()
		answer := "{}"
		if item != "" {
			answer = `{"Item":` + item + `}`
		}
		st := &stub{answers: map[string]string{"GetItem": answer, "DescribeTable": `{"Table":{"KeySchema":[{"AttributeName":"p","KeyType":"HASH"}]}}`}}
		got, note, _ := strings.Cut(ask(t, connect(t, Options{Store: st, Write: true}), tool, `{"table_name":"t","dry_run":true,`+args+`}`), "\n")
		if got != want {
			t.Errorf("%s %s of %s: %s\nwant %s", tool, args, item, got, want)
		}
		if !strings.HasPrefix(got, "error") && !strings.HasPrefix(note, "Nothing was changed.") {
			t.Errorf("%s %s: note %q", tool, args, note)
		}
		for _, sent := range st.sent {
			if !strings.HasPrefix(sent, "DescribeTable ") && sent != `GetItem {"ConsistentRead":true,"Key":{"p":{"S":"a"}},"TableName":"t"}` {
				t.Errorf("%s %s sends %s", tool, args, sent)
			}
		}
	}
	const old = `{"p":{"S":"a"},"n":{"N":"1"},"o":{"S":"x"}}`

	f("put_item", `"item":{"p":"a","n":2}`, "",
		`{"dry_run":true,"outcome":"create","added":["n","p"],"after":{"n":{"N":"2"},"p":{"S":"a"}}}`)
	f("put_item", `"item":{"p":"a","n":2,"q":true}`, old,
		`{"dry_run":true,"outcome":"replace","added":["q"],"changed":["n"],"removed":["o"],"before":`+old+`,"after":{"n":{"N":"2"},"p":{"S":"a"},"q":{"BOOL":true}}}`)
	f("put_item", `"item":{"p":"a","n":1.0,"o":"x"}`, old, `{"dry_run":true,"outcome":"nothing","before":`+old+`,"after":{"n":{"N":"1"},"o":{"S":"x"},"p":{"S":"a"}}}`)
	f("put_item", `"item":{"p":"a"},"condition_expression":"attribute_not_exists(p)"`, old, `{"dry_run":true,"outcome":"condition_fails","before":`+old+`}`)
	f("put_item", `"item":{"p":"a"},"condition_expression":"attribute_not_exists(p)"`, "",
		`{"dry_run":true,"outcome":"create","added":["p"],"after":{"p":{"S":"a"}}}`)
	f("put_item", `"item":{"p":"a"},"condition_expression":"#n > :n","expression_attribute_names":{"#n":"n"},"expression_attribute_values":{":n":0}`, "",
		`{"dry_run":true,"outcome":"condition_fails"}`)

	f("update_item", `"key":{"p":"a"},"update_expression":"SET n = n + :n REMOVE o","expression_attribute_values":{":n":1}`, old,
		`{"dry_run":true,"outcome":"update","changed":["n"],"removed":["o"],"before":`+old+`,"after":{"p":{"S":"a"},"n":{"N":"2"}}}`)
	f("update_item", `"key":{"p":"a"},"update_expression":"SET n = :n","expression_attribute_values":{":n":1}`, "",
		`{"dry_run":true,"outcome":"create","added":["p","n"],"after":{"p":{"S":"a"},"n":{"N":"1"}}}`)
	f("update_item", `"key":{"p":"a"},"update_expression":"REMOVE n"`, "", `{"dry_run":true,"outcome":"nothing"}`)

	f("delete_item", `"key":{"p":"a"}`, old, `{"dry_run":true,"outcome":"delete","removed":["p","n","o"],"before":`+old+`}`)
	f("delete_item", `"key":{"p":"a"}`, "", `{"dry_run":true,"outcome":"nothing"}`)

	// Mistakes are errors as of a real write.
	const invalid = "error: ValidationException: "
	f("put_item", `"item":{"n":1}`, "", invalid+"One or more parameter values were invalid: Missing the key p in the item")
	f("put_item", `"item":{"p":"a","n":{"N":"x"}}`, "", invalid+"The parameter cannot be converted to a numeric value: x")
	f("put_item", `"item":{"p":"a"},"condition_expression":"p ="`, "", invalid+`Invalid ConditionExpression: Syntax error; token: "<EOF>", near: "="`)
	f("put_item", `"item":{"p":"a"},"condition_expression":"attribute_exists(p)","expression_attribute_names":{"#n":"n"}`, "",
		invalid+"Value provided in ExpressionAttributeNames unused in expressions: keys: {#n}")
	f("update_item", `"key":{"p":"a"},"update_expression":"SET p = n"`, "",
		invalid+"One or more parameter values were invalid: Cannot update attribute p. This attribute is part of the key")
	f("update_item", `"key":{"p":"a"},"update_expression":"SET n = m"`, old, invalid+"The provided expression refers to an attribute that does not exist in the item")
	f("put_item", `"item":{"p":"a","x":"`+strings.Repeat("x", 400<<10)+`"}`, "", invalid+"Item size has exceeded the maximum allowed size")

	// Items that are too long for a result are left out.
	f("put_item", `"item":{"p":"a","x":"`+strings.Repeat("x", 100<<10)+`"}`, old, `{"dry_run":true,"outcome":"replace","added":["x"],"removed":["n","o"]}`)
}
