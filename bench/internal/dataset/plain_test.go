package dataset

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"testing"
)

func TestPlainAnswers(t *testing.T) {
	for i := range 100 {
		var typed struct {
			Item map[string]map[string]string
		}
		var plain struct {
			Item map[string]any
		}
		text := Even.AppendPlain(nil, i)
		d := json.NewDecoder(bytes.NewReader(text))
		d.UseNumber()
		if err := d.Decode(&plain); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if err := json.Unmarshal(Even.AppendGetAnswer(nil, i), &typed); err != nil {
			t.Fatal(err)
		}
		if len(plain.Item) != len(typed.Item) || len(plain.Item) < 3 {
			t.Fatalf("%s", text)
		}
		for name, v := range typed.Item {
			number, isNumber := plain.Item[name].(json.Number)
			if s, ok := v["S"]; ok && plain.Item[name] != s || !ok && (!isNumber || number.String() != v["N"]) {
				t.Errorf("attribute %s: got %v, want %v", name, plain.Item[name], v)
			}
		}
	}
}

func TestPlainRequestsAreWellFormed(t *testing.T) {
	body := Even.AppendGet(nil, 3)
	rest := bufio.NewReader(bytes.NewReader(AppendPlainRequest(nil, "/GetItemJSON", body)))
	r, err := http.ReadRequest(rest)
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(r.Body)
	if err != nil || !bytes.Equal(got, body) || rest.Buffered() != 0 || r.URL.Path != "/GetItemJSON" {
		t.Errorf("%s with body %q, %v, %d bytes left", r.URL, got, err, rest.Buffered())
	}
}
