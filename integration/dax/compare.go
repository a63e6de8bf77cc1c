package dax

import (
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strings"
)

// answer is one line of a driver's output: the answer of one side to one step.
type answer struct {
	Side   string `json:"side"`
	Step   string `json:"step"`
	Answer any    `json:"answer"`
	Error  any    `json:"error"`
}

// text returns the answer or the error as comparable text.
func (a answer) text() string {
	what := map[string]any{"answer": a.Answer}
	if a.Error != nil {
		what = map[string]any{"error": a.Error}
	}
	return text(what)
}

func read(lines string) (answers []answer, err error) {
	for line := range strings.Lines(lines) {
		if strings.TrimSpace(line) == "" {
			continue
		}
		var a answer
		d := json.NewDecoder(strings.NewReader(line))
		d.UseNumber()
		if err := d.Decode(&a); err != nil {
			return nil, fmt.Errorf("line %d is no JSON: %w: %.200q", len(answers)+1, err, line)
		}
		a.Answer, a.Error = normal("", a.Answer), normal("", a.Error)
		answers = append(answers, a)
	}
	return answers, nil
}

// normal returns a value in a normalised form: the order of sets, batches and table lists,
// and the spelling of numbers.
func normal(name string, v any) any {
	switch v := v.(type) {
	case map[string]any:
		if len(v) == 1 {
			if s, ok := v["N"].(string); ok {
				return map[string]any{"N": spelled(s)}
			}
			if all, ok := v["NS"].([]any); ok {
				return map[string]any{"NS": spelledSet(all)}
			}
		}
		for member, inner := range v {
			v[member] = normal(member, inner)
			if all, ok := v[member].([]any); ok && (name == "Responses" || name == "ItemCollectionMetrics" || member == "SS" || member == "BS" || member == "ConsumedCapacity") {
				slices.SortFunc(all, func(a, b any) int { return strings.Compare(text(a), text(b)) })
			}
		}
	case []any:
		for i := range v {
			v[i] = normal("", v[i])
		}
	case json.Number:
		return spelled(string(v))
	}
	return v
}

func spelledSet(all []any) []any {
	out := make([]any, len(all))
	for i := range all {
		out[i] = all[i]
		if s, ok := all[i].(string); ok {
			out[i] = spelled(s)
		}
	}
	slices.SortFunc(out, func(a, b any) int { return strings.Compare(text(a), text(b)) })
	return out
}

// spelled returns a number in canonical form.
func spelled(s string) string {
	if n, ok := new(big.Rat).SetString(s); ok {
		return n.RatString()
	}
	return s
}

func text(v any) string {
	b, err := json.Marshal(v) // sorts members
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// compare returns the differences between a client's two sides for the given steps.
func compare(client string, steps []step, answers []answer) (differences []string) {
	sides := map[string][]answer{}
	for _, a := range answers {
		sides[a.Side] = append(sides[a.Side], a)
	}
	through, direct := sides["dax"], sides["plain"]
	if len(through) != len(steps) || len(direct) != len(steps) {
		return []string{fmt.Sprintf("%s: %d steps, but %d answers through DAX and %d directly", client, len(steps), len(through), len(direct))}
	}
	for i, s := range steps {
		a, b := evened(client, s, direct[i], through[i])
		if a == b {
			continue
		}
		at := 0
		for at < min(len(a), len(b)) && a[at] == b[at] {
			at++
		}
		differences = append(differences, fmt.Sprintf("%s, step %d, %s:\n  directly:    %s\n  through DAX: %s", client, i, s.Step, around(a, at), around(b, at)))
	}
	return differences
}

// around returns the text around position at, a few hundred bytes.
func around(s string, at int) string { return s[max(0, at-120):min(len(s), at+240)] }
