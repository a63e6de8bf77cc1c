package transfer

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/kasoku/kasoku/internal/dynamo/value"
)

// testTable has the key attributes id, a string, and at, a number, and an index's key code, a
// binary.
var testTable = &table{name: "T", keys: []keyAttribute{{"id", value.String}, {"at", value.Number}},
	types: map[string]value.Type{"id": value.String, "at": value.Number, "code": value.Binary}}

func TestParseRecord(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		r, err := parseRecord([]byte(text), testTable)
		got := string(r.appendRequest(nil))
		if err != nil {
			got = err.Error()
		} else if _, err := r.key(testTable); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", text, got, want)
		}
	}
	const key, item = `{"id":{"S":"x"},"at":{"N":"1"}}`, `{"id":{"S":"x"},"at":{"N":"1"},"n":{"S":"y"}}`
	f(item, `{"PutRequest":{"Item":`+item+`}}`)
	f(`{"Item":`+item+`}`, `{"PutRequest":{"Item":`+item+`}}`)
	f(`{"Metadata":{"WriteTimestampMicros":"1680109764000000"},"Keys":`+key+`,"NewImage":`+item+`,"OldImage":`+key+`}`, `{"PutRequest":{"Item":`+item+`}}`)
	f(`{"Metadata":{"WriteTimestampMicros":{"N":"1"}},"Keys":`+key+`,"NewImage":`+item+`}`, `{"PutRequest":{"Item":`+item+`}}`)
	f(`{"Metadata":{"WriteTimestampMicros":{"N":"1"}},"Keys":`+key+`,"OldImage":`+item+`}`, `{"DeleteRequest":{"Key":`+key+`}}`)
	f(`{"Keys":`+key+`}`, `{"DeleteRequest":{"Key":`+key+`}}`)
	// Attributes may have the names of a record's members.
	f(`{"Item":{"S":"a"},"id":{"S":"x"},"at":{"N":"1"}}`, `{"PutRequest":{"Item":{"Item":{"S":"a"},"id":{"S":"x"},"at":{"N":"1"}}}}`)
	f(`{"Item":{"Item":{"S":"a"},"id":{"S":"x"},"at":{"N":"1"}}}`, `{"PutRequest":{"Item":{"Item":{"S":"a"},"id":{"S":"x"},"at":{"N":"1"}}}}`)

	f(`[]`, "the line is no item: it is not a JSON object")
	f(`{"Item":`, "the line is not a whole JSON value; items are one a line")
	f(`{"id":"x"}`, "Unexpected value type in payload")
	f(`{"id":{"S":"x"}}`, "the item lacks the key attribute at of the table T")
	f(`{"Item":{"id":{"S":"x"},"at":{"S":"1"}}}`, "the key attribute at is of type S, and of type N in the table T")
	f(`{"id":{"S":""},"at":{"N":"1"}}`, "the key attribute id is empty")
	f(`{"id":{"S":"x"},"at":{"N":"1e200"}}`, "Number overflow. Attempting to store a number with magnitude larger than supported range")
	f(`{"Keys":`+item+`}`, "the record's Keys has other attributes than the table's key")
	f(`{"id":{"S":"x"},"at":{"N":"1"},"b":{"S":"`+strings.Repeat("x", maxItem)+`"}}`, "the item has 409608 bytes, more than the maximum of 409600")
}

// lines reads a text of records and returns a line for each: with the record, or the error.
func lines(r recordReader, err error) string {
	var out strings.Builder
	if err != nil {
		return err.Error()
	}
	for range 100 {
		text, line, err := r.Next()
		if err == io.EOF {
			return strings.TrimSuffix(out.String(), "\n")
		}
		if err != nil {
			fmt.Fprintf(&out, "%d: %v\n", line, err)
			if _, bad := err.(badRecord); !bad {
				return out.String()
			}
			continue
		}
		fmt.Fprintf(&out, "%d: %s\n", line, bytes.TrimSpace(text))
	}
	return out.String()
}

func TestLineReader(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		if got := lines(&lineReader{in: bufio.NewReaderSize(strings.NewReader(text), 16)}, nil); got != want {
			t.Errorf("%.60q: got %q, want %q", text, got, want)
		}
	}
	f("", "")
	f("a\nb", "1: a\n2: b")
	f("a\r\n\n \t\r\nb\n", "1: a\n4: b")
	f("a long line, longer than the buffer\nb", "1: a long line, longer than the buffer\n2: b")
	f(strings.Repeat("x", maxLine+1)+"\nb", "1: a line has more than 8388608 bytes\n2: b")
}

func TestCSV(t *testing.T) {
	f := func(text string, o CSV, want string) {
		t.Helper()
		if got := lines(newRecordReader(bufio.NewReader(strings.NewReader(text)), csvText, testTable, &o)); got != want {
			t.Errorf("%.60q:\ngot  %s\nwant %s", text, got, want)
		}
	}
	// As AWS imports: attributes of keys have their types, all others are strings.
	f("id,at,value\nx,5,5\n", CSV{}, `2: {"id":{"S":"x"},"at":{"N":"5"},"value":{"S":"5"}}`)
	f("code\naA==\n", CSV{}, `2: {"code":{"B":"aA=="}}`)
	f("id,value\n\"\"\"123\"\"\",Women's Full Lenth Dress\n", CSV{}, `2: {"id":{"S":"\"123\""},"value":{"S":"Women's Full Lenth Dress"}}`)
	f("id,value\n\"123,Dress\n", CSV{}, "2: extraneous or missing \" in quoted-field\n")
	f("id,value\n\"1\"23,Dress\n", CSV{}, "2: extraneous or missing \" in quoted-field\n")
	f("id;v\nx;\"a;b\nc\"\ny;d", CSV{Delimiter: ';'}, "2: "+`{"id":{"S":"x"},"v":{"S":"a;b\nc"}}`+"\n4: "+`{"id":{"S":"y"},"v":{"S":"d"}}`)
	f("x,1\n", CSV{Header: []string{"id", "at"}}, `1: {"id":{"S":"x"},"at":{"N":"1"}}`)
	f("\xef\xbb\xbfid\r\nx\r\n", CSV{}, `2: {"id":{"S":"x"}}`)
	f("id,v,w\nx,,\n", CSV{}, `2: {"id":{"S":"x"}}`)
	f("id,v\nx\ny,1\n", CSV{}, "2: the row has 1 fields, and the header 2\n3: "+`{"id":{"S":"y"},"v":{"S":"1"}}`)
	// Types by suffix and by option.
	f("id,n:N,b:BOOL,x:y,z:NULL\nx, 7 ,TRUE,1,-\n", CSV{}, `2: {"id":{"S":"x"},"n":{"N":"7"},"b":{"BOOL":true},"x:y":{"S":"1"},"z":{"NULL":true}}`)
	types := CSV{Types: map[string]string{"s": "SS", "n": "NS", "b": "BS", "l": "L", "m": "M", "at": "S"}}
	f("s,n,b,l,m,at\n\"a, b\",\"[1,2.50]\",aA==,\"[{\"\"S\"\":\"\"x\"\"}]\",\"{\"\"k\"\":{\"\"N\"\":\"\"1\"\"}}\",5\n", types,
		`2: {"s":{"SS":["a","b"]},"n":{"NS":["1","2.50"]},"b":{"BS":["aA=="]},"l":{"L":[{"S":"x"}]},"m":{"M":{"k":{"N":"1"}}},"at":{"S":"5"}}`)

	f("", CSV{}, "the file is empty; the first line names the columns")
	f("id,id\n", CSV{}, `two columns have the name "id"`)
	f("id,\n", CSV{}, "the column 2 has no name")
	f("id\n", CSV{Types: map[string]string{"x": "N"}}, `there is no column "x", for which a type is given`)
	f("b:BOOL\nyes\n", CSV{}, `2: column b: "yes" is neither true nor false`)
	f("b:B\n*\n", CSV{}, "2: column b: illegal base64 data at input byte 0")
	f("l:L\n[\n", CSV{}, `2: column l: "[" is not JSON`)
	f("l:SS\n[\n", CSV{}, `2: column l: "[" is no array of JSON`)
	f("id\n\""+strings.Repeat("x", maxLine+5000)+"\n", CSV{}, "2: a row has more than 8388608 bytes: is the quote that ends a field missing?\n")
}

func TestCSVOptions(t *testing.T) {
	f := func(o CSV, want string) {
		t.Helper()
		if err := o.Check(); err == nil && want != "" || err != nil && err.Error() != want {
			t.Errorf("%+v: got %v", o, err)
		}
	}
	types, err := ParseTypes("id=S,a=b=N")
	if err != nil || types["a=b"] != "N" || types["id"] != "S" {
		t.Errorf("got %v, %v", types, err)
	}
	if _, err := ParseTypes("id"); err == nil {
		t.Error("a type without = is valid")
	}
	f(CSV{Types: types, Delimiter: '|'}, "")
	f(CSV{Delimiter: 'x'}, "the delimiter 'x' is none of comma, tab, colon, semicolon, bar and space")
	f(CSV{Types: map[string]string{"a": "X"}}, `the type of the column "a" is "X", which is none of S, N, B, BOOL, NULL, SS, NS, BS, L, M`)
}

// FuzzCSV checks that each text gets an error or rows that are JSON.
func FuzzCSV(f *testing.F) {
	f.Add([]byte("id,n:N,s:SS,b:BOOL,l:L\nx,1,\"a,b\",true,[]\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := newCSVReader(bufio.NewReader(bytes.NewReader(text)), testTable, &CSV{})
		if err != nil {
			return
		}
		for range 100 {
			row, _, err := r.Next()
			if _, bad := err.(badRecord); bad {
				continue
			}
			if err != nil {
				return
			}
			if _, err := parseRecord(row, testTable); err != nil && strings.Contains(err.Error(), "not a whole JSON") {
				t.Fatalf("%q: the row %s is not JSON", text, row)
			}
		}
	})
}

// FuzzRecord checks that a record that is read can be written, and is read back as it was.
func FuzzRecord(f *testing.F) {
	f.Add([]byte(`{"Item":{"id":{"S":"x"},"at":{"N":"1"},"l":{"L":[{"M":{}}]}}}`))
	f.Add([]byte(`{"Metadata":{},"Keys":{"id":{"S":"x"},"at":{"N":"1"}},"OldImage":{}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := parseRecord(text, testTable)
		if err != nil {
			return
		}
		if _, err := r.key(testTable); err != nil || r.deletion {
			return
		}
		again, err := parseRecord(r.item.AppendItem(nil), testTable)
		if err != nil || !again.item.Equal(&r.item) {
			t.Fatalf("%s is read as %s, and then as %s, %v", text, r.item.AppendItem(nil), again.item.AppendItem(nil), err)
		}
	})
}
