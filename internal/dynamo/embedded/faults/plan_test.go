package faults

import (
	"encoding/json"
	"testing"
)

// TestPlan checks that a plan with every field survives being written and read.
func TestPlan(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		p, err := Parse([]byte(text))
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		got, err := json.Marshal(p)
		if err != nil || string(got) != want {
			t.Errorf("got  %s, %v\nwant %s", got, err, want)
		}
		if again, err := Parse(got); err != nil {
			t.Errorf("%s: %v", got, err)
		} else if text, _ := json.Marshal(again); string(text) != want {
			t.Errorf("read again: %s", text)
		}
	}
	f(`{}`, `{"seed":0,"rules":[],"bypass_cache":true}`)
	f(`{"seed":7,"bypass_cache":false,"rules":[{"operations":"Put*","tables":"orders*","error":"ThrottlingException"}]}`,
		`{"seed":7,"rules":[{"operations":["Put*"],"tables":["orders*"],"error":{"type":"ThrottlingException"}}],"bypass_cache":false}`)
	f(`{"transaction_conflicts":true}`, `{"seed":0,"rules":[],"transaction_conflicts":true,"bypass_cache":true}`)
	f(`{"item_collection_limit":1000}`, `{"seed":0,"rules":[],"item_collection_limit":1000,"bypass_cache":true}`)
	f(`{"enforce_capacity":true}`, `{"seed":0,"rules":[],"enforce_capacity":true,"bypass_cache":true}`)
	f(`{"eventual_reads":{"lag":"500ms","tables":["a*","b"]},"index_lag":"1s"}`,
		`{"seed":0,"rules":[],"eventual_reads":{"lag":"500ms","tables":["a*","b"]},"index_lag":"1s","bypass_cache":true}`)
	f(`{"creating":"2s","updating":"1s","deleting":"1m"}`, `{"seed":0,"rules":[],"creating":"2s","updating":"1s","deleting":"1m0s","bypass_cache":true}`)
	f(`{"rules":[{"name":"n","operations":["GetItem","Query"],"key":{"n":{"N":"1.0"},"a":{"S":"x"}},"probability":0.5,"after":1,"every":2,"count":3,
 "delay":{"min":"1ms","max":"2s"},"hold":"1s","error":{"type":"TransactionCanceledException","message":"m","cancellation_reasons":["None","ThrottlingError"]},"executed":true}]}`,
		`{"seed":0,"rules":[{"name":"n","operations":["GetItem","Query"],"key":{"a":{"S":"x"},"n":{"N":"1"}},"probability":0.5,"after":1,"every":2,"count":3,"delay":{"max":"2s","min":"1ms"},"hold":"1s",`+
			`"error":{"type":"TransactionCanceledException","message":"m","cancellation_reasons":["None","ThrottlingError"]},"executed":true}],"bypass_cache":true}`)
	f(`{"rules":[{"error":{"type":"RequestLimitExceeded","throttling_reasons":[{"reason":"TableReadAccountLimitExceeded","resource":"r"}]}},{"reset":true},{"unprocessed":1}]}`,
		`{"seed":0,"rules":[{"error":{"type":"RequestLimitExceeded","throttling_reasons":[{"reason":"TableReadAccountLimitExceeded","resource":"r"}]}},{"reset":true},{"unprocessed":1}],"bypass_cache":true}`)
}

// TestBadPlan checks that each mistake is reported with its field.
func TestBadPlan(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		if _, err := Parse([]byte(text)); err == nil || err.Error() != want {
			t.Errorf("%s:\ngot  %v\nwant %s", text, err, want)
		}
	}
	rule := func(members, want string) {
		t.Helper()
		f(`{"rules":[`+members+`]}`, want)
	}
	f(`{`, "the plan is not JSON: unexpected end of JSON input")
	f(`[]`, "[] is no object")
	f(`{"sede":1}`, `sede: unknown field (did you mean "seed"?)`)
	f(`{"seed":1,"seed":2}`, "seed: given twice")
	f(`{"seed":1.5}`, "seed: 1.5 is no whole number")
	f(`{"seed":null}`, "seed: null is no whole number")
	f(`{"item_collection_limit":0}`, "item_collection_limit: 0 is not between 1 and 2147483647")
	f(`{"bypass_cache":"yes"}`, `bypass_cache: "yes" is no boolean`)
	f(`{"eventual_reads":{}}`, "eventual_reads: lag is missing")
	f(`{"eventual_reads":{"lag":"1h"}}`, "eventual_reads.lag: 1h is above the maximum 10m0s")
	f(`{"index_lag":"1s","bypass_cache":false}`, "bypass_cache: reads that lag must not be cached: leave it out, or true")
	f(`{"rules":{}}`, "rules: {} is no list")
	rule(`1`, "rules[0]: 1 is no object")
	rule(`{}`, "rules[0]: nothing happens: give an error, a reset, a delay, a hold or a share unprocessed")
	rule(`{"operation":"x","reset":true}`, `rules[0].operation: unknown field (did you mean "operations"?)`)
	rule(`{"operations":"PutItm","reset":true}`, `rules[0].operations: "PutItm" matches no operation (did you mean "PutItem"?)`)
	rule(`{"operations":["PutItem","Nothing*"],"reset":true}`, `rules[0].operations: "Nothing*" matches no operation`)
	rule(`{"tables":["a",""],"reset":true}`, "rules[0].tables[1]: a pattern must not be empty")
	rule(`{"key":{"a":"b"},"reset":true}`, `rules[0].key: "b" is no value of a key such as {"S":"a"}`)
	rule(`{"key":{"a":{"N":"x"}},"reset":true}`, `rules[0].key: {"a":{"N":"x"}} is no key such as {"id":{"S":"a"}}`)
	rule(`{"key":{},"reset":true}`, `rules[0].key: {} is no key such as {"id":{"S":"a"}}`)
	rule(`{"probability":0,"reset":true}`, "rules[0].probability: 0 is not above 0 and up to 1")
	rule(`{"probability":1.5,"reset":true}`, "rules[0].probability: 1.5 is not above 0 and up to 1")
	rule(`{"count":0,"reset":true}`, "rules[0].count: 0 is not between 1 and 2147483647")
	rule(`{"after":-1,"reset":true}`, "rules[0].after: -1 is not between 0 and 2147483647")
	rule(`{"delay":5}`, "rules[0].delay: 5 is no object")
	rule(`{"delay":"5"}`, `rules[0].delay: "5" is no duration such as "200ms"`)
	rule(`{"delay":"2m"}`, "rules[0].delay: 2m is above the maximum 1m0s")
	rule(`{"delay":{"min":"2s","max":"1s"}}`, "rules[0].delay: max is less than min")
	rule(`{"error":"ThrottlingExeption"}`, `rules[0].error: "ThrottlingExeption" is no error (did you mean "ThrottlingException"?)`)
	rule(`{"error":{}}`, "rules[0].error: type is missing")
	rule(`{"error":{"type":"InternalServerError","throttling_reasons":[{"reason":"TableReadAccountLimitExceeded"}]}}`, "rules[0].error: InternalServerError has no throttling_reasons")
	rule(`{"error":{"type":"ThrottlingException","throttling_reasons":[{}]}}`, "rules[0].error.throttling_reasons[0]: reason is missing")
	rule(`{"error":{"type":"ThrottlingException","cancellation_reasons":["None"]}}`, "rules[0].error: ThrottlingException has no cancellation_reasons")
	rule(`{"error":{"type":"TransactionCanceledException","cancellation_reasons":["Conflict"]}}`,
		`rules[0].error.cancellation_reasons[0]: "Conflict" is no cancellation reason`)
	rule(`{"error":"InternalServerError","reset":true}`, "rules[0]: error and reset exclude each other")
	rule(`{"unprocessed":1,"reset":true}`, "rules[0]: unprocessed excludes error and reset")
	rule(`{"delay":"1s","executed":true}`, "rules[0]: executed is for rules with an error or a reset")
	rule(`{"name":"2","reset":true},{"reset":true}`, `rules[1]: there are two rules called "2"`)
	f(`{"sed":1,"rules":[{"rest":true}]}`, "sed: unknown field (did you mean \"seed\"?)\nrules[0].rest: unknown field (did you mean \"reset\"?)")
}
