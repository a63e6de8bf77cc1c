package faults

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kasoku/kasoku/internal/ascii"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// unmarshal checks that text is JSON and calls read with it. It returns all mistakes that read
// finds.
func unmarshal(text []byte, read func(v *input)) error {
	if len(text) > MaxPlan {
		return fmt.Errorf("the plan is longer than %d bytes", MaxPlan)
	}
	var whole any
	if err := json.Unmarshal(text, &whole); err != nil {
		return fmt.Errorf("the plan is not JSON: %w", err)
	}
	v := &input{text: text, mistakes: new([]error)}
	read(v)
	return errors.Join(*v.mistakes...)
}

// input is a value of a plan that is being read. Its methods note mistakes, and then return
// zero values.
type input struct {
	path     string
	text     json.RawMessage
	mistakes *[]error
}

// wrong notes a mistake.
func (v *input) wrong(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if v.path != "" {
		text = v.path + ": " + text
	}
	*v.mistakes = append(*v.mistakes, errors.New(text))
}

// into decodes the value. kind describes the expected values.
func (v *input) into(to any, kind string) bool {
	if wire.Kind(v.text) == 'n' || json.Unmarshal(v.text, to) != nil {
		v.wrong("%s is no %s", excerpt(v.text), kind)
		return false
	}
	return true
}

// excerpt returns the beginning of a value for a message.
func excerpt(text []byte) string {
	const limit = 40
	if letters := []rune(string(text)); len(letters) > limit {
		return string(letters[:limit]) + "..."
	}
	return string(text)
}

func (v *input) word() (s string) {
	v.into(&s, "string")
	return s
}

func (v *input) flag() (b bool) {
	v.into(&b, "boolean")
	return b
}

// count reads a number of requests, or of bytes.
func (v *input) count(least int) (n int) {
	if v.into(&n, "whole number") && (n < least || n > math.MaxInt32) {
		v.wrong("%d is not between %d and %d", n, least, math.MaxInt32)
	}
	return n
}

// share reads a number above 0 up to 1.
func (v *input) share() (f float64) {
	if v.into(&f, "number") && !(f > 0 && f <= 1) {
		v.wrong("%s is not above 0 and up to 1", v.text)
	}
	return f
}

// duration reads a duration, for example "200ms", up to limit.
func (v *input) duration(limit time.Duration) (d time.Duration) {
	var s string
	if !v.into(&s, `duration such as "200ms"`) {
		return 0
	}
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 {
		v.wrong(`%q is no duration such as "200ms"`, s)
		return 0
	}
	if d > limit {
		v.wrong("%s is above the maximum %s", s, limit)
	}
	return d
}

// list returns the elements of a list.
func (v *input) list() (all []*input) {
	var texts []json.RawMessage
	v.into(&texts, "list")
	for i, text := range texts {
		all = append(all, &input{v.path + "[" + strconv.Itoa(i) + "]", text, v.mistakes})
	}
	return all
}

// members calls the function of each member of an object.
func (v *input) members(readers map[string]func(*input)) {
	if wire.Kind(v.text) != '{' {
		v.wrong("%s is no object", excerpt(v.text))
		return
	}
	seen := map[string]bool{}
	for it := wire.Object(v.text); it.Next(); {
		raw, _ := wire.AppendName(nil, it.Name())
		name := string(raw)
		m := &input{strings.TrimPrefix(v.path+"."+name, "."), json.RawMessage(it.Value()), v.mistakes}
		read := readers[name]
		switch {
		case read == nil:
			m.wrong("unknown field%s", meant(name, slices.Sorted(maps.Keys(readers))))
		case seen[name]:
			m.wrong("given twice")
		default:
			read(m)
		}
		seen[name] = true
	}
}

// meant returns " (did you mean x?)" if a candidate is similar to word, otherwise "".
func meant(word string, candidates []string) string {
	if n := ascii.Near(word, candidates); n != "" {
		return fmt.Sprintf(" (did you mean %q?)", n)
	}
	return ""
}

// oneOf reads one of several words; kind describes them.
func (v *input) oneOf(words []string, kind string) string {
	noted := len(*v.mistakes)
	s := v.word()
	if len(*v.mistakes) == noted && !slices.Contains(words, s) {
		v.wrong("%q is no %s%s", s, kind, meant(s, words))
	}
	return s
}
