package embedded

import (
	"encoding/json"
	"math/rand/v2"
	"sort"
	"strings"
	"testing"
)

// TestDamagedRequests checks that an invalid request gets a well-formed answer other than an
// internal error. The requests are those of the sessions, each with one value replaced or removed.
func TestDamagedRequests(t *testing.T) {
	eachFile(t, "testdata/sessions/*.txt", func(t *testing.T, _, text string) {
		d := &requestDamager{random: rand.New(rand.NewPCG(1, 2))}
		s := &session{t: t, dir: t.TempDir(), clock: clockAt(sessionStart), saved: map[string]string{}, before: d.damage}
		s.open()
		for block := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
			command, _, _ := strings.Cut(block, "\n----")
			s.run(command)
		}
		if d.sent == 0 {
			t.Error("no request was damaged")
		}
	})
}

// requestDamager damages valid requests.
type requestDamager struct {
	random *rand.Rand
	sent   int
}

// damagedPerRequest is the number of damaged requests that are sent before each valid one.
const damagedPerRequest = 12

// notDamaged are operations that would delete the session's tables.
var notDamaged = map[string]bool{"DeleteTable": true}

// damage sends damaged forms of a request and checks the answers.
func (d *requestDamager) damage(s *session, op, body string) {
	if notDamaged[op] || len(body) > 1<<14 {
		return
	}
	for range damagedPerRequest {
		var v any
		if json.Unmarshal([]byte(body), &v) != nil {
			return
		}
		places := pathsIn(v, nil)
		if len(places) == 0 {
			return
		}
		jsonPath := places[d.random.IntN(len(places))]
		v = replaced(v, jsonPath, d.other())
		damaged, err := json.Marshal(v)
		if err != nil {
			s.t.Fatal(err)
		}
		d.sent++
		status, reply := s.s.send(s.t, op, string(damaged))
		if status != 200 && status != 400 || reply != "" && !json.Valid([]byte(reply)) {
			s.t.Errorf("%s %s: got %d %s", op, damaged, status, reply)
		}
	}
}

// missingValue marks a removed value.
type missingValue struct{}

// other returns a random replacement for a value.
func (d *requestDamager) other() any {
	all := []any{missingValue{}, missingValue{}, nil, "", "x", "a", strings.Repeat("x", 300), strings.Repeat("x", 2049), 0, 1, -1, 1.5, 1e30, true, false,
		[]any{}, map[string]any{}, []any{nil}, []any{[]any{}}, map[string]any{"": nil}, map[string]any{"S": "a"}, map[string]any{"N": "1"},
		map[string]any{"S": ""}, map[string]any{"N": ""}, map[string]any{"N": "1e200"}, map[string]any{"M": map[string]any{"a": map[string]any{"L": []any{}}}},
		"arn:aws:dynamodb:us-east-1:000000000000:table/tab", "arn:", "HASH", "tab", "p", "NONE", "\u0000", "\U0001f600"}
	return all[d.random.IntN(len(all))]
}

// jsonPath is the path to a value: names and positions.
type place []any

// pathsIn returns the paths of all values in v.
func pathsIn(v any, to place) (all []place) {
	step := func(at, sub any) {
		here := append(append(place(nil), to...), at)
		all = append(append(all, here), pathsIn(sub, here)...)
	}
	switch v := v.(type) {
	case map[string]any:
		names := make([]string, 0, len(v))
		for name := range v {
			names = append(names, name)
		}
		sort.Strings(names)
		for _, name := range names {
			step(name, v[name])
		}
	case []any:
		for i := range v {
			step(i, v[i])
		}
	}
	return all
}

// replaced returns v with another value at a path.
func replaced(v any, at place, other any) any {
	if len(at) == 0 {
		return other
	}
	switch v := v.(type) {
	case map[string]any:
		name := at[0].(string)
		sub := replaced(v[name], at[1:], other)
		if _, gone := sub.(missingValue); gone {
			delete(v, name)
		} else {
			v[name] = sub
		}
	case []any:
		i := at[0].(int)
		sub := replaced(v[i], at[1:], other)
		if _, gone := sub.(missingValue); gone {
			return append(v[:i:i], v[i+1:]...)
		}
		v[i] = sub
	}
	return v
}
