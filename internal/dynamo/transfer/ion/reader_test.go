package ion

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// all returns the records of a text, a line each, or the error.
func all(text string) (string, error) {
	r := NewReader(strings.NewReader(text))
	var out strings.Builder
	for {
		record, _, err := r.Next()
		if err == io.EOF {
			return out.String(), nil
		}
		if err != nil {
			return out.String(), err
		}
		out.Write(record)
		out.WriteByte('\n')
	}
}

// The records of the developer guide, and the rest of Ion's text that items can have.
func TestRecords(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		got, err := all(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if got != want+"\n" {
			t.Fatalf("%s:\ngot  %swant %s", text, got, want)
		}
	}
	item := func(value, want string) {
		t.Helper()
		f("$ion_1_0 {Item:{a:"+value+"}}", `{"Item":{"a":`+want+`}}`)
	}
	f(`$ion_1_0 {
    Item:{
        Authors:$dynamodb_SS::["Author1","Author2"],
        Dimensions:"8.5 x 11.0 x 1.5",
        ISBN:"333-3333333333",
        Id:103.,
        InPublication:false,
        PageCount:6d2,
        Price:2d3,
        ProductCategory:"Book",
        Title:"Book 103 Title"
    }
}`, `{"Item":{"Authors":{"SS":["Author1","Author2"]},"Dimensions":{"S":"8.5 x 11.0 x 1.5"},"ISBN":{"S":"333-3333333333"},`+
		`"Id":{"N":"103"},"InPublication":{"BOOL":false},"PageCount":{"N":"6e2"},"Price":{"N":"2e3"},`+
		`"ProductCategory":{"S":"Book"},"Title":{"S":"Book 103 Title"}}}`)
	f("$ion_1_0 [{Record:{Keys:{k:\"1\"},Metadata:{WriteTimestampMicros:1684374845117899.},OldImage:{k:\"1\",n:1.},NewImage:{k:\"1\",n:2.}}}]",
		`{"Keys":{"k":{"S":"1"}},"OldImage":{"k":{"S":"1"},"n":{"N":"1"}},"NewImage":{"k":{"S":"1"},"n":{"N":"2"}}}`)
	f("$ion_1_0 [ {Item:{k:1}}, {Item:{k:2}} ]", `{"Item":{"k":{"N":"1"}}}`+"\n"+`{"Item":{"k":{"N":"2"}}}`)
	f("$ion_1_0 {Item:{k:1}}\n$ion_1_0 {Item:{k:2}}\n", `{"Item":{"k":{"N":"1"}}}`+"\n"+`{"Item":{"k":{"N":"2"}}}`)
	f("// one\n{ /* two\n*/ Item : { k : 1 , }, }", `{"Item":{"k":{"N":"1"}}}`)
	f(`{Item:{'a b':1,"c:d":2,$e_1:3}}`, `{"Item":{"a b":{"N":"1"},"c:d":{"N":"2"},"$e_1":{"N":"3"}}}`)
	f("{Item:{}}", `{"Item":{}}`)

	item("-1.5", `{"N":"-1.5"}`)
	item("1d2", `{"N":"1e2"}`)
	item("1.25D-3", `{"N":"1.25e-3"}`)
	item("1.d+10", `{"N":"1e+10"}`)
	item("0.", `{"N":"0"}`)
	item("1_000.5", `{"N":"1000.5"}`)
	item("12e3", `{"N":"12e3"}`)
	item("true", `{"BOOL":true}`)
	item("null", `{"NULL":true}`)
	item("null.string", `{"NULL":true}`)
	item("{{ aGVs bG8= }}", `{"B":"aGVsbG8="}`)
	item("{{}}", `{"B":""}`)
	item("$dynamodb_NS::[1., 2.5]", `{"NS":["1","2.5"]}`)
	item("$dynamodb_BS::[{{aA==}}]", `{"BS":["aA=="]}`)
	item("'$dynamodb_SS' :: ['''x''']", `{"SS":["x"]}`)
	item(`[1, "x", [true], {b:null}]`, `{"L":[{"N":"1"},{"S":"x"},{"L":[{"BOOL":true}]},{"M":{"b":{"NULL":true}}}]}`)
	item("[]", `{"L":[]}`)
	item("{}", `{"M":{}}`)
	item(`"\"\\\/\n\t\x41\u00e9\U0001F600\uD83D\uDE00"`, `{"S":"\"\\/\n\tAé😀😀"}`)
	item("'''one ''' '''two'''", `{"S":"one two"}`)
	item("\"one\\\ntwo\"", `{"S":"onetwo"}`)
}

func TestMistakes(t *testing.T) {
	f := func(text string, line int, want string) {
		t.Helper()
		_, err := all(text)
		e, ok := errors.AsType[*Error](err)
		if !ok || e.Line != line || !strings.Contains(e.Message, want) {
			t.Fatalf("%q: got %v, want line %d: %s", text, err, line, want)
		}
	}
	f("{Item:{a:1}}\n\n{Item:{a:2007-02-23T}}", 3, "is no decimal")
	f("{Item:{a:0x1}}", 1, "is no decimal")
	f("{Item:{a:+1}}", 1, "is no decimal")
	f("{Item:{a:1e}}", 1, "is no decimal")
	f("{Item:{a:nan}}", 1, `the symbol "nan" is no value`)
	f("{Item:{a:word}}", 1, `the symbol "word" is no value`)
	f("{Item:{a:usd::1}}", 1, `the annotation "usd"`)
	f("{Item:{a:$dynamodb_SS::[1]}}", 1, "another type")
	f("{Item:{a:$dynamodb_SS::1}}", 1, "not a list")
	f("{Item:{a:{{\"clob\"}}}}", 1, "a clob")
	f("{Item:{a:{{*}}}}", 1, "not base64")
	f("{Item:{a:(1)}}", 1, "not the beginning of a value")
	f("{Item:{a:\"x\n\"}}", 2, "a string has no end")
	f("{Item:{a:\"\xff\"}}", 1, "not UTF-8")
	f(`{Item:{a:"\ud800"}}`, 1, "no character")
	f(`{Item:{a:"\q"}}`, 1, "an unknown escape")
	f(`{Item:{a:"\xzz"}}`, 1, "needs 2 hexadecimal digits")
	f("{Item:{a:1", 1, "expected a comma")
	f("{Item:{", 1, "the text ends")
	f("{Item:1}", 1, "a struct of attributes")
	f("{Items:{}}", 1, `no member "Items"`)
	f("{}", 1, "without Item")
	f("{Record:{Record:{}}}", 1, "not alone")
	f("{Record:{Item:{}},Item:{}}", 1, "not alone")
	f("[{Item:{}}", 1, "has no end")
	f("/* {Item:{}}", 1, "a comment has no end")
	f("$ion_2_0 {Item:{}}", 1, "neither $ion_1_0")
	f("$ion_symbol_table::{symbols:[]}", 1, "neither $ion_1_0")
	f("1", 1, "not the beginning of a record")
	f("{Item:{a:"+strings.Repeat("[", 100)+"}}", 1, "nest too deeply")
	f("{Item:{a:\""+strings.Repeat("x", maxRecord)+"\"}}", 1, "more than 8388608 bytes")
}

// A failing reader is not taken for the end of the text.
func TestReaderFails(t *testing.T) {
	r := NewReader(io.MultiReader(strings.NewReader("{Item:{a:1}} {Item:"), &failing{}))
	if _, _, err := r.Next(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := r.Next(); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("got %v", err)
	}
}

type failing struct{}

func (*failing) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// FuzzReader checks that each text gets either an error or records that are JSON.
func FuzzReader(f *testing.F) {
	f.Add([]byte(`$ion_1_0 {Item:{a:$dynamodb_SS::["x"],b:6d2,c:{{aA==}},d:[null,true],e:{f:'''x'''}}}`))
	f.Add([]byte(`$ion_1_0 [{Record:{Keys:{k:"1"},Metadata:{WriteTimestampMicros:1.},NewImage:{k:"1"}}}]`))
	f.Fuzz(func(t *testing.T, text []byte) {
		r := NewReader(bytes.NewReader(text))
		for range 1000 {
			record, _, err := r.Next()
			if err != nil {
				return
			}
			if !wire.Valid(record, wire.MaxDepth) {
				t.Fatalf("%q: %s is not JSON", text, record)
			}
		}
	})
}
