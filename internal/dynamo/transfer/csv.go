package transfer

import (
	"bufio"
	"encoding/base64"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// CSV has the options of files in CSV, which are those of AWS's import, and types.
type CSV struct {
	Delimiter rune              // 0 for a comma
	Header    []string          // names of the columns; if empty, the first line has them
	Types     map[string]string // types of columns by name: S, N, B, BOOL, NULL, SS, NS, BS, L, M
}

// delimiters are the delimiters that AWS's import accepts.
const delimiters = ",;:|\t "

// csvTypes are the types of columns.
var csvTypes = []string{"S", "N", "B", "BOOL", "NULL", "SS", "NS", "BS", "L", "M"}

// Check returns an error if the options are invalid.
func (o *CSV) Check() error {
	if o.Delimiter != 0 && !strings.ContainsRune(delimiters, o.Delimiter) {
		return fmt.Errorf("the delimiter %q is none of comma, tab, colon, semicolon, bar and space", o.Delimiter)
	}
	for name, typ := range o.Types {
		if name == "" || !slices.Contains(csvTypes, typ) {
			return fmt.Errorf("the type of the column %q is %q, which is none of %s", name, typ, strings.Join(csvTypes, ", "))
		}
	}
	return nil
}

// csvReader reads rows as items.
type csvReader struct {
	in      *csv.Reader
	limited *limitedReader
	columns []column
	line    int // of the last row
	text    []byte
}

type column struct{ name, typ string }

// limitedReader limits the length of a row, which a missing quote can make as long as the
// rest of the file.
type limitedReader struct {
	io.Reader
	left int64
}

var errLongRow = fmt.Errorf("a row has more than %d bytes: is the quote that ends a field missing?", maxLine)

func (r *limitedReader) Read(p []byte) (int, error) {
	if r.left <= 0 {
		return 0, errLongRow
	}
	n, err := r.Reader.Read(p[:min(int64(len(p)), r.left)])
	r.left -= int64(n)
	return n, err
}

// newCSVReader returns a reader of rows for a table. The types of columns are those of the
// options, or are suffixes of their names, as age:N. Without one, attributes of the table's and
// its indexes' keys have the type in the table's definition, and all others are strings.
func newCSVReader(in *bufio.Reader, t *table, o *CSV) (*csvReader, error) {
	if mark, _ := in.Peek(3); string(mark) == "\xef\xbb\xbf" {
		in.Discard(3)
	}
	limited := &limitedReader{in, maxLine}
	r := &csvReader{in: csv.NewReader(limited), limited: limited}
	if o.Delimiter != 0 {
		r.in.Comma = o.Delimiter
	}
	header := o.Header
	if len(header) == 0 {
		var err error
		if header, err = r.in.Read(); err == io.EOF {
			return nil, errors.New("the file is empty; the first line names the columns")
		} else if err != nil {
			return nil, err
		}
		r.line = 1
	}
	r.in.FieldsPerRecord = len(header)
	for i, name := range header {
		c := column{name: name, typ: "S"}
		if typ, ok := t.types[name]; ok {
			c.typ = typ.String()
		}
		if before, typ, ok := cutLast(name, ':'); ok && slices.Contains(csvTypes, typ) && len(o.Header) == 0 {
			c = column{before, typ}
		}
		if typ, ok := o.Types[c.name]; ok {
			c.typ = typ
		}
		if c.name == "" {
			return nil, fmt.Errorf("the column %d has no name", i+1)
		}
		if slices.ContainsFunc(r.columns, func(other column) bool { return other.name == c.name }) {
			return nil, fmt.Errorf("two columns have the name %q", c.name)
		}
		r.columns = append(r.columns, c)
	}
	for name := range o.Types {
		if !slices.ContainsFunc(r.columns, func(c column) bool { return c.name == name }) {
			return nil, fmt.Errorf("there is no column %q, for which a type is given", name)
		}
	}
	return r, nil
}

// cutLast cuts text at the last separator.
func cutLast(text string, separator byte) (before, after string, found bool) {
	i := strings.LastIndexByte(text, separator)
	if i < 0 {
		return text, "", false
	}
	return text[:i], text[i+1:], true
}

// Next returns the next row as an item. Empty fields are left out.
func (r *csvReader) Next() ([]byte, int, error) {
	r.limited.left = maxLine
	fields, err := r.in.Read()
	if err == io.EOF {
		return nil, 0, err
	}
	line := r.line + 1
	if err == nil {
		line, _ = r.in.FieldPos(0)
	}
	if pe, ok := errors.AsType[*csv.ParseError](err); ok {
		line, err = pe.StartLine, pe.Err
		if errors.Is(err, csv.ErrFieldCount) {
			return nil, line, badRecord{fmt.Errorf("the row has %d fields, and the header %d", len(fields), len(r.columns))}
		}
	}
	if err != nil {
		return nil, line, err
	}
	r.line = line
	r.text = append(r.text[:0], '{')
	for i, field := range fields {
		if field == "" {
			continue
		}
		if len(r.text) > 1 {
			r.text = append(r.text, ',')
		}
		c := &r.columns[i]
		r.text = append(wire.AppendQuoted(r.text, []byte(c.name)), ':')
		if r.text, err = appendField(r.text, field, c.typ); err != nil {
			return nil, line, badRecord{fmt.Errorf("column %s: %w", c.name, err)}
		}
	}
	return append(r.text, '}'), line, nil
}

// appendField appends a field as an attribute value of a type.
func appendField(dst []byte, field, typ string) ([]byte, error) {
	dst = append(append(append(dst, `{"`...), typ...), `":`...)
	var err error
	switch typ {
	case "BOOL":
		switch text := strings.ToLower(field); text {
		case "true", "false":
			dst = append(dst, text...)
		default:
			return nil, fmt.Errorf("%.40q is neither true nor false", field)
		}
	case "NULL":
		dst = append(dst, "true"...)
	case "SS", "NS", "BS":
		dst, err = appendSet(dst, field)
	case "L", "M":
		if !wire.Valid([]byte(field), wire.MaxDepth) {
			return nil, fmt.Errorf("%.40q is not JSON", field)
		}
		dst = append(dst, field...)
	case "N":
		dst, err = wire.AppendQuoted(dst, []byte(strings.TrimSpace(field))), nil
	case "B":
		_, err = base64.StdEncoding.DecodeString(field)
		dst = wire.AppendQuoted(dst, []byte(field))
	default:
		dst = wire.AppendQuoted(dst, []byte(field))
	}
	if err != nil {
		return nil, err
	}
	dst = append(dst, '}')
	return dst, nil
}

// appendSet appends the members of a set: an array of JSON, or values separated by commas.
func appendSet(dst []byte, field string) ([]byte, error) {
	if strings.HasPrefix(field, "[") {
		var list []any
		d := json.NewDecoder(strings.NewReader(field))
		d.UseNumber()
		if err := d.Decode(&list); err != nil || !wire.Valid([]byte(field), wire.MaxDepth) {
			return nil, fmt.Errorf("%.40q is no array of JSON", field)
		}
		dst = append(dst, '[')
		for i, m := range list {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = wire.AppendQuoted(dst, fmt.Append(nil, m))
		}
		return append(dst, ']'), nil
	}
	dst = append(dst, '[')
	for i, m := range strings.Split(field, ",") {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = wire.AppendQuoted(dst, []byte(strings.TrimSpace(m)))
	}
	return append(dst, ']'), nil
}

// ParseTypes reads the types of columns: id=S,n=N.
func ParseTypes(text string) (map[string]string, error) {
	types := map[string]string{}
	for _, part := range strings.Split(text, ",") {
		name, typ, ok := cutLast(part, '=')
		if !ok {
			return nil, fmt.Errorf("%q is no type of a column, such as age=N", part)
		}
		types[name] = typ
	}
	return types, nil
}
