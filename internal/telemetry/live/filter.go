package live

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kasoku/kasoku/internal/ascii"
	"github.com/kasoku/kasoku/internal/glob"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// Filter selects records. Its terms must all hold; the zero Filter selects all records. It is
// immutable.
type Filter struct{ terms []term }

// term compares a field with values. One of them must hold; for != none may.
type term struct {
	field    *field
	op       string
	patterns []string // of a text
	numbers  []int64  // of a number; of a time in nanoseconds; of a truth value 0 or 1
}

// operators are the operators: a longer one is before its beginning.
var operators = []string{"!=", ">=", "<=", "=", ">", "<"}

// maxTerms bounds the work for each record.
const maxTerms = 32

// Parse parses a filter: terms separated by spaces, such as
//
//	table=users,orders decision=miss* status>=400 time>50ms user_agent!="curl/*"
//
// A term is the name of a field, an operator (= != > >= < <=) and values separated by commas. In the
// values of a text, * matches any text and ? any byte. A value in double quotes may contain spaces
// and commas.
func Parse(text string) (*Filter, error) {
	f := &Filter{}
	for rest := strings.TrimLeft(text, " \t\n"); rest != ""; rest = strings.TrimLeft(rest, " \t\n") {
		if len(f.terms) == maxTerms {
			return nil, fmt.Errorf("a filter has at most %d terms", maxTerms)
		}
		t, after, err := parseTerm(rest)
		if err != nil {
			return nil, err
		}
		f.terms, rest = append(f.terms, t), after
	}
	return f, nil
}

// parseTerm parses the term that text begins with, and returns the text after it.
func parseTerm(text string) (t term, rest string, err error) {
	end := strings.IndexFunc(text, func(r rune) bool { return r != '_' && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') })
	if end < 0 {
		end = len(text)
	}
	name, rest := text[:end], text[end:]
	i := slices.IndexFunc(operators, func(op string) bool { return strings.HasPrefix(rest, op) })
	if name == "" || i < 0 {
		word, _, _ := strings.Cut(text, " ")
		return t, "", fmt.Errorf("%q is not a field, an operator (= != > >= < <=) and a value, such as status>=400", word)
	}
	t.op, rest = operators[i], rest[len(operators[i]):]
	if t.field = fieldNamed(name); t.field == nil {
		return t, "", fmt.Errorf("there is no field %q%s; fields: %s", name, suggestion(name, fieldNames), strings.Join(fieldNames, " "))
	}
	values, rest, err := parseValues(rest)
	if err == nil {
		err = t.set(values)
	}
	if err != nil {
		return t, "", fmt.Errorf("%s%s: %w", name, t.op, err)
	}
	return t, rest, nil
}

// parseValues parses the values at the beginning of text, up to a space.
func parseValues(text string) (values []string, rest string, err error) {
	var value strings.Builder
	quoted, at := false, 0
	for ; at < len(text); at++ {
		switch c := text[at]; {
		case c == '"':
			quoted = !quoted
		case c == '\\' && quoted && at+1 < len(text):
			at++
			value.WriteByte(text[at])
		case !quoted && c == ',':
			values = append(values, value.String())
			value.Reset()
		case !quoted && (c == ' ' || c == '\t' || c == '\n'):
			return append(values, value.String()), text[at:], nil
		default:
			value.WriteByte(c)
		}
	}
	if quoted {
		return nil, "", errors.New(`a quotation mark " is missing`)
	}
	return append(values, value.String()), "", nil
}

// set sets the values of a term.
func (t *term) set(values []string) error {
	ordered := t.op != "=" && t.op != "!="
	switch {
	case ordered && (t.field.kind == text || t.field.kind == truth):
		return errors.New("this field has no order: use = or !=")
	case ordered && len(values) > 1:
		return errors.New("several values are only for = and !=")
	}
	for _, v := range values {
		if t.field.kind == text {
			if err := t.field.check(v); err != nil {
				return err
			}
			t.patterns = append(t.patterns, v)
			continue
		}
		n, err := t.field.kind.parse(v)
		if err != nil {
			return err
		}
		t.numbers = append(t.numbers, n)
	}
	return nil
}

// parse parses a value that is not a text.
func (k kind) parse(v string) (int64, error) {
	switch k {
	case truth:
		switch v {
		case "true":
			return 1, nil
		case "false":
			return 0, nil
		}
		return 0, fmt.Errorf("%q is not true or false", v)
	case micros:
		if n, err := strconv.ParseInt(v, 10, 64); err == nil && n >= 0 && n <= math.MaxInt64/int64(time.Microsecond) {
			return n * int64(time.Microsecond), nil
		}
		fallthrough
	case duration:
		d, err := time.ParseDuration(v)
		if err != nil {
			return 0, fmt.Errorf("%q is no duration such as 50ms", v)
		}
		return int64(d), nil
	}
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is no whole number", v)
	}
	return n, nil
}

func suggestion(word string, candidates []string) string {
	if n := ascii.Near(word, candidates); n != "" {
		return fmt.Sprintf(" (did you mean %q?)", n)
	}
	return ""
}

// Match reports whether the filter selects r. It does not allocate.
func (f *Filter) Match(r *telemetry.Record) bool {
	for i := range f.terms {
		if !f.terms[i].match(r) {
			return false
		}
	}
	return true
}

func (t *term) match(r *telemetry.Record) bool {
	if t.field.kind == text {
		var memory [256]byte
		value := t.field.appendText(memory[:0], r)
		for _, p := range t.patterns {
			if glob.Match(p, value) {
				return t.op == "="
			}
		}
		return t.op == "!="
	}
	n := t.field.number(r)
	switch t.op {
	case "=":
		return slices.Contains(t.numbers, n)
	case "!=":
		return !slices.Contains(t.numbers, n)
	case ">":
		return n > t.numbers[0]
	case ">=":
		return n >= t.numbers[0]
	case "<":
		return n < t.numbers[0]
	}
	return n <= t.numbers[0]
}
