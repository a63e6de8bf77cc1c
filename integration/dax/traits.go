package dax

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

// trait is a difference that a client, or DynamoDB Local, causes itself.
type trait struct {
	why     string
	clients []string // none: all
	steps   []string // prefixes of the names of the affected steps; none: all
	// even removes the difference from the two answers.
	even func(direct, through *answer)
}

var (
	javaScript = []string{"javascript2", "javascript3", "document"}
	notPython  = append([]string{"java"}, javaScript...)
)

var traits = []trait{
	{"JavaScript's DAX clients put the error's name before its message", javaScript, nil, func(direct, through *answer) {
		through.reword(func(code, message string) string { return strings.TrimPrefix(message, code+": ") })
	}},
	{"Java's DAX client puts the error's codes before its message", []string{"java"}, nil, func(direct, through *answer) {
		through.reword(func(_, message string) string { return codes.ReplaceAllString(message, "") })
	}},
	{"SDKs for JavaScript invent a missing message, or omit it", javaScript, []string{"tx-write-token-other"}, func(direct, through *answer) {
		direct.reword(func(_, message string) string { return strings.TrimPrefix(message, "UnknownError") })
		if e, ok := direct.Error.(map[string]any); ok && e["message"] == nil {
			e["message"] = ""
		}
		through.reword(func(_, message string) string { return strings.TrimPrefix(message, "UnknownError") })
	}},
	{"a DAX client requests the table's keys first, which has another error message for a missing table", nil, nil, func(direct, through *answer) {
		for _, side := range []*answer{direct, through} {
			side.reword(func(code, message string) string {
				if code == "ResourceNotFoundException" {
					return "no table"
				}
				return message
			})
		}
	}},
	{"JavaScript's DAX clients also report absent members of reasons", javaScript, []string{"tx-cancelled"}, func(_, through *answer) {
		through.reasons(func(reasons []any) []any {
			for _, reason := range reasons {
				if members, ok := reason.(map[string]any); ok {
					maps.DeleteFunc(members, func(_ string, v any) bool { return v == nil })
				}
			}
			return reasons
		})
	}},
	{"Python's DAX client reports the reasons undecoded: three values each, an item as bytes without names", []string{"python"}, []string{"tx-cancelled"}, func(direct, through *answer) {
		direct.reasons(func(reasons []any) []any {
			flat := []any{}
			for _, reason := range reasons {
				members, _ := reason.(map[string]any)
				flat = append(flat, members["Code"], members["Message"], members["Item"] != nil)
			}
			return flat
		})
		through.reasons(func(flat []any) []any {
			for i := 2; i < len(flat); i += 3 {
				flat[i] = flat[i] != nil
			}
			return flat
		})
	}},
	{"DAX clients refuse some requests themselves, in words of their own", nil, []string{"put-empty-set", "put-empty-key", "batch-get-twice", "batch-write-twice", "tx-write-twice"}, func(direct, through *answer) {
		if direct.Error != nil && through.Error != nil {
			direct.Error, through.Error = "refused", "refused"
		}
	}},
	{"DynamoDB Local reports the capacity of deleting a missing item without a request for it", nil, []string{"delete-absent"}, func(direct, through *answer) {
		direct.drop("ConsumedCapacity", func(any) bool { return true })
	}},
	{"clients other than Python's differ in whether an empty list or map is there", notPython, nil, func(direct, through *answer) {
		for _, side := range []*answer{direct, through} {
			for _, name := range []string{"Items", "UnprocessedKeys", "UnprocessedItems", "ItemCollectionMetrics"} {
				side.drop(name, empty)
			}
		}
	}},
}

var codes = regexp.MustCompile(`^\[[0-9.]+\] `)

// evened returns the two answers to a step without the client's own differences.
func evened(client string, s step, direct, through answer) (a, b string) {
	for _, t := range traits {
		of := len(t.clients) == 0 || slices.Contains(t.clients, client)
		at := len(t.steps) == 0 || slices.ContainsFunc(t.steps, func(name string) bool { return strings.HasPrefix(s.Step, name) })
		if of && at {
			t.even(&direct, &through)
		}
	}
	return direct.text(), through.text()
}

// reword replaces the message of an error.
func (a *answer) reword(f func(code, message string) string) {
	e, _ := a.Error.(map[string]any)
	code, _ := e["code"].(string)
	if message, ok := e["message"].(string); ok {
		e["message"] = f(code, message)
	}
}

// reasons replaces the cancellation reasons of a transaction.
func (a *answer) reasons(f func([]any) []any) {
	e, _ := a.Error.(map[string]any)
	if all, ok := e["reasons"].([]any); ok {
		e["reasons"] = f(all)
	}
}

// drop removes a member from the answer, or from all its pages, if when returns true for its
// value.
func (a *answer) drop(name string, when func(any) bool) {
	pages := []any{a.Answer}
	if all, ok := a.Answer.(map[string]any); ok && all["pages"] != nil {
		pages, _ = all["pages"].([]any)
	}
	for _, page := range pages {
		if members, ok := page.(map[string]any); ok && when(members[name]) {
			delete(members, name)
		}
	}
}

func empty(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return false
}
