// Package clients checks that unchanged AWS SDKs get the same answers through Kasoku as from
// the origin itself. Each SDK runs one scenario twice, once against DynamoDB Local and once
// through Kasoku in front of it, with only the endpoint changed. The answers are compared
// one by one.
package clients

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// answer is one line of a scenario's output.
type answer struct {
	Step   string `json:"step"`
	Answer any    `json:"answer"`
}

// parse reads the lines of one run and makes them comparable: it replaces run, the part of
// all names that identifies the run, and everything that differs between any two runs.
func parse(lines, run string) ([]answer, error) {
	var answers []answer
	for line := range strings.Lines(strings.ReplaceAll(lines, run, "RUN")) {
		var a answer
		d := json.NewDecoder(strings.NewReader(line))
		d.UseNumber()
		if err := d.Decode(&a); err != nil {
			return nil, fmt.Errorf("line %d is no JSON: %w: %.200q", len(answers)+1, err, line)
		}
		a.Answer = comparable("", a.Answer)
		answers = append(answers, a)
	}
	return answers, nil
}

// volatile are the members whose values differ in every run. Only their presence is
// compared.
var volatile = map[string]bool{
	"RequestId": true, "requestId": true, "date": true, "Date": true, "content-length": true,
	"CreationDateTime": true, "CreationRequestDateTime": true, "LastUpdateToPayPerRequestDateTime": true,
	"LastIncreaseDateTime": true, "LastDecreaseDateTime": true, "ApproximateCreationDateTime": true,
	"LatestStreamArn": true, "LatestStreamLabel": true, "StreamArn": true, "StreamLabel": true,
	"ShardId": true, "ShardIterator": true, "NextShardIterator": true, "NextToken": true,
	"SequenceNumber": true, "StartingSequenceNumber": true, "EndingSequenceNumber": true,
	"eventID": true, "EventID": true, "TableId": true,
}

// headers are the HTTP headers that must be equal; others may differ.
var headers = []string{"content-type"}

var timestamp = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?`)

func comparable(name string, v any) any {
	if volatile[name] {
		return "volatile"
	}
	switch v := v.(type) {
	case map[string]any:
		if name == "HTTPHeaders" {
			return onlyHeaders(v)
		}
		for member, inner := range v {
			v[member] = comparable(member, inner)
		}
	case []any:
		for i := range v {
			v[i] = comparable("", v[i])
		}
		if name == "ConsumedCapacity" { // one element per table, in any order
			slices.SortFunc(v, func(a, b any) int { return strings.Compare(text(a), text(b)) })
		}
	case string:
		return timestamp.ReplaceAllString(v, "TIME")
	}
	return v
}

func onlyHeaders(all map[string]any) any {
	some := map[string]any{}
	for _, h := range headers {
		some[h] = all[h]
	}
	return some
}

func text(v any) string {
	b, err := json.Marshal(v) // sorts members
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// compare returns the differences between the answers of two runs.
func compare(direct, through []answer) (differences []string) {
	for i := range max(len(direct), len(through)) {
		switch {
		case i >= len(direct):
			differences = append(differences, fmt.Sprintf("step %d, %s: only through Kasoku", i, through[i].Step))
		case i >= len(through):
			differences = append(differences, fmt.Sprintf("step %d, %s: only directly", i, direct[i].Step))
		default:
			a, b := text(direct[i]), text(through[i])
			if a != b {
				at := firstDifference(a, b)
				differences = append(differences, fmt.Sprintf("step %d, %s:\n  directly:       %s\n  through Kasoku: %s",
					i, direct[i].Step, around(a, at), around(b, at)))
			}
		}
	}
	return differences
}

func firstDifference(a, b string) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}

// around returns the text about position at, not more than a line or two.
func around(s string, at int) string {
	from, to := max(0, at-200), min(len(s), at+300)
	return s[from:to]
}
