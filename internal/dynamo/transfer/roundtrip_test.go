package transfer

import (
	"bufio"
	"encoding/base64"
	"encoding/csv"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/kasoku/kasoku/internal/dynamo/value"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// text generates strings with characters that formats treat specially.
var text = rapid.StringOfN(rapid.SampledFrom([]rune("ab \"'\\,;:/[]{}$\n\r\t\x00\x7fäß漢😀\u2028")), 1, 12, -1)

var numbers = rapid.StringMatching(`-?[1-9][0-9]{0,20}(\.[0-9]{0,15}[1-9])?(e-?[1-9][0-9]?)?`)

// attribute generates a value as DynamoDB JSON.
func attribute(depth int) *rapid.Generator[string] {
	quoted := rapid.Map(text, func(s string) string { return string(wire.AppendQuoted(nil, []byte(s))) })
	number := rapid.Map(numbers, func(s string) string { return `"` + s + `"` })
	binary := rapid.Map(rapid.SliceOfN(rapid.Byte(), 1, 9), func(b []byte) string { return `"` + base64.StdEncoding.EncodeToString(b) + `"` })
	set := func(g *rapid.Generator[string]) *rapid.Generator[string] {
		return rapid.Map(rapid.SliceOfNDistinct(g, 1, 4, rapid.ID[string]), func(l []string) string { return "[" + strings.Join(l, ",") + "]" })
	}
	typed := func(typ string, g *rapid.Generator[string]) *rapid.Generator[string] {
		return rapid.Map(g, func(s string) string { return `{"` + typ + `":` + s + `}` })
	}
	kinds := []*rapid.Generator[string]{
		typed("S", quoted), typed("N", number), typed("B", binary), typed("BOOL", rapid.SampledFrom([]string{"true", "false"})),
		typed("NULL", rapid.Just("true")), typed("SS", set(quoted)), typed("NS", set(rapid.StringMatching(`"[1-9][0-9]{0,5}"`))), typed("BS", set(binary)),
	}
	if depth > 0 {
		inner := rapid.SliceOfN(attribute(depth-1), 0, 3)
		kinds = append(kinds, typed("L", rapid.Map(inner, func(l []string) string { return "[" + strings.Join(l, ",") + "]" })),
			typed("M", rapid.Map(inner, func(l []string) string {
				for i := range l {
					l[i] = string(wire.AppendQuoted(nil, fmt.Appendf(nil, "k %d\"", i))) + ":" + l[i]
				}
				return "{" + strings.Join(l, ",") + "}"
			})))
	}
	return rapid.OneOf(kinds...)
}

// drawItems generates items with the numbers from 0 on as ids.
func drawItems(r *rapid.T) (items []value.Value) {
	for i := range rapid.IntRange(1, 8).Draw(r, "items") {
		text := fmt.Sprintf(`{"id":{"N":"%d"}`, i)
		for j, a := range rapid.SliceOfN(attribute(2), 0, 4).Draw(r, "attributes") {
			text += fmt.Sprintf(`,"a%d":%s`, j, a)
		}
		v, err := value.ParseItem([]byte(text + "}"))
		if err != nil {
			r.Fatalf("%s: %v", text, err)
		}
		items = append(items, v)
	}
	return items
}

// appendIon appends a value as Ion text.
func appendIon(dst []byte, v *value.Value) []byte {
	list := func(l []value.Value) {
		dst = append(dst, '[')
		for i := range l {
			dst = append(appendIon(dst, &l[i]), ',')
		}
		dst = append(dst, ']')
	}
	quote := func(s string) {
		dst = append(dst, '"')
		for _, c := range s {
			if c < ' ' || c == '"' || c == '\\' || c == 0x7f {
				dst = fmt.Appendf(dst, `\x%02x`, c)
			} else {
				dst = append(dst, string(c)...)
			}
		}
		dst = append(dst, '"')
	}
	switch v.Type {
	case value.String:
		quote(string(v.Text))
	case value.Number:
		dst = append(append(dst, v.Text...), "d0"...)
	case value.Binary:
		dst = fmt.Appendf(dst, "{{%s}}", base64.StdEncoding.EncodeToString(v.Text))
	case value.Bool:
		dst = fmt.Append(dst, v.Bool)
	case value.Null:
		dst = append(dst, "null"...)
	case value.List:
		list(v.Items)
	case value.Map:
		dst = append(dst, '{')
		for i := range v.Members {
			quote(v.Members[i].Name)
			dst = append(appendIon(append(dst, ':'), &v.Members[i].Value), ',')
		}
		dst = append(dst, '}')
	default:
		dst = append(append(append(dst, "$dynamodb_"...), v.Type.String()...), "::"...)
		list(v.Items)
	}
	return dst
}

// toCSV returns items as CSV, each attribute in a column with its type, and false if one has a
// value that CSV can't hold.
func toCSV(items []value.Value) (string, bool) {
	var columns []string
	for _, item := range items {
		for i := range item.Members {
			m := &item.Members[i]
			if name := m.Name + ":" + m.Value.Type.String(); !slices.Contains(columns, name) {
				columns = append(columns, name)
			}
		}
	}
	var out strings.Builder
	w := csv.NewWriter(&out)
	w.Write(columns)
	for _, item := range items {
		row := make([]string, len(columns))
		for i := range item.Members {
			m := &item.Members[i]
			inner := m.Value.Append(nil)
			_, text, _ := wire.Attribute(inner)
			field := string(text)
			if wire.Kind(text) == '"' {
				raw, _ := wire.AppendString(nil, text)
				field = string(raw)
			}
			if strings.Contains(field, "\r") {
				return "", false // readers of CSV read it as the end of a line
			}
			row[slices.Index(columns, m.Name+":"+m.Value.Type.String())] = field
		}
		w.Write(row)
	}
	w.Flush()
	names := map[string]bool{}
	for _, c := range columns {
		name, _, _ := cutLast(c, ':')
		if names[name] {
			return "", false // two types of one attribute
		}
		names[name] = true
	}
	return out.String(), true
}

// read returns the items of a text.
func read(r *rapid.T, text string, f format) (items []value.Value) {
	in, err := newRecordReader(bufio.NewReader(strings.NewReader(text)), f, roundTripTable, &CSV{})
	if err != nil {
		r.Fatalf("%s: %v", text, err)
	}
	for {
		record, _, err := in.Next()
		if err == io.EOF {
			return items
		}
		if err != nil {
			r.Fatalf("%s: %v", text, err)
		}
		parsed, err := parseRecord(record, roundTripTable)
		if err != nil {
			r.Fatalf("%s: %s: %v", text, record, err)
		}
		items = append(items, parsed.item)
	}
}

var roundTripTable = &table{name: "T", keys: []keyAttribute{{"id", value.Number}}, types: map[string]value.Type{"id": value.Number}}

// Items are the same after each format that can hold them.
func TestFormatsKeepItems(t *testing.T) {
	held := 0
	rapid.Check(t, func(r *rapid.T) {
		items := drawItems(r)
		expect := func(text string, f format) {
			got := read(r, text, f)
			if !slices.EqualFunc(got, items, func(a, b value.Value) bool { return a.Equal(&b) }) {
				r.Fatalf("%s is read as %v", text, got)
			}
		}
		var lines, ion strings.Builder
		for i := range items {
			fmt.Fprintf(&lines, "%s\n", items[i].AppendItem(nil))
			fmt.Fprintf(&ion, "$ion_1_0 {Item:%s}\n", appendIon(nil, &items[i]))
		}
		expect(lines.String(), jsonLines)
		expect(ion.String(), ionText)
		if text, ok := toCSV(items); ok {
			held++
			expect(text, csvText)
		}
	})
	if held < 10 {
		t.Errorf("only %d lists of items were written as CSV", held)
	}
}

// Items are the same after a load, a dump and a load.
func TestRoundTrip(t *testing.T) {
	s := newServer(t)
	n := 0
	rapid.Check(t, func(r *rapid.T) {
		n++
		directory, name := t.TempDir(), fmt.Sprintf("table-%d", n)
		s.create(name, "N")
		var lines strings.Builder
		items := drawItems(r)
		for i := range items {
			fmt.Fprintf(&lines, "%s\n", items[i].AppendItem(nil))
		}
		load(t, s.config(), write(t, directory, name+".items.json", lines.String()))
		want := s.items(name)
		if len(want) != len(items) {
			r.Fatalf("there are %d items of %d", len(want), len(items))
		}
		cfg := s.config(name)
		cfg.Segments = 1
		dump(t, cfg, filepath.Join(directory, "out"))
		s.must("DeleteTable", `{"TableName":"`+name+`"}`)
		load(t, s.config(), filepath.Join(directory, "out"))
		if got := s.items(name); !slices.Equal(got, want) {
			r.Fatalf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	})
}
