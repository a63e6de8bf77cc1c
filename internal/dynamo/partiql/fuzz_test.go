package partiql

import (
	"errors"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/kasoku/kasoku/internal/dynamo/value"
)

var places = regexp.MustCompile(`at (\d+):(\d+):(\d+)$`)

// FuzzTranslate checks that every statement is either translated or refused with an error whose
// position is in the statement. Parse, which authorization uses, never reads it differently.
func FuzzTranslate(f *testing.F) {
	for _, x := range statements {
		f.Add(x.text, false)
	}
	for _, text := range []string{"UPDATE t SET a = set_add(a, <<1>>) WHERE k = ? RETURNING ALL NEW *", "SELECT a[1].b FROM t WHERE NOT (a IN (1, ?) OR b BETWEEN 'x' AND {'y': [null]})",
		"FROM t WHERE k = 1 SET a = a + 1", "SELECT * FROM 't'", "a\r\n= `1`", "DATE '2020-01-01'", "CASE a WHEN 1 THEN 2 END", "EXISTS(SELECT * FROM t)"} {
		f.Add(text, true)
	}
	all := []value.Value{{Type: value.String, Text: []byte("x")}, {Type: value.Number, Text: []byte("1")}}
	f.Fuzz(func(t *testing.T, text string, transaction bool) {
		if len(text) > maxStatement {
			return
		}
		values := all[:min(strings.Count(text, "?"), len(all))]
		c, err := Translate([]byte(text), values, transaction)
		if err != nil {
			var fault *Error
			if !errors.As(err, &fault) || fault.Text == "" {
				t.Fatalf("%q was refused with %v", text, err)
			}
			inside(t, text, fault.Text)
			return
		}
		if st, ok := Parse([]byte(text)); ok && (st.Kind != c.Kind || string(st.Table) != c.Table || string(st.Index) != c.Index) {
			t.Fatalf("%q is %s for Parse and %s %s %s for Translate", text, st.text(), c.Kind, c.Table, c.Index)
		}
	})
}

// inside checks that a message's position is in the statement.
func inside(t *testing.T, text, message string) {
	m := places.FindStringSubmatch(message)
	if m == nil {
		return
	}
	line, _ := strconv.Atoi(m[1])
	column, _ := strconv.Atoi(m[2])
	length, _ := strconv.Atoi(m[3])
	lines := 1 + strings.Count(text, "\n") + strings.Count(text, "\r")
	if line < 1 || column < 1 || length < 1 || line > lines || line == 1 && column+length-1 > characters([]byte(text)) {
		t.Fatalf("%q: got %s", text, message)
	}
}
