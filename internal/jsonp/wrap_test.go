package jsonp

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

const (
	ls = "\u2028"
	ps = "\u2029"
)

func TestWraps(t *testing.T) {
	dotted := with(t, Dotted, nil)
	f := func(body, want string) {
		t.Helper()
		if got := wrap(dotted, "a.b", body); got != want {
			t.Errorf("%q: got %q, want %q", body, got, want)
		}
	}
	f(`{"a":1}`, `/**/a.b({"a":1});`)
	f("[1]\n", `/**/a.b([1]);`)
	f(" [1] \r\n\t", `/**/a.b( [1]);`)
	f(`1`, `/**/a.b(1);`)
	f(`"x"`, `/**/a.b("x");`)
	f(`null`, `/**/a.b(null);`)
	f("", `/**/a.b();`)
	f("\ufeff{}", `/**/a.b({});`)
	f("\ufeff\ufeff{}", "/**/a.b(\ufeff{});")
	f("\xef\xbb{}", "/**/a.b(\xef\xbb{});")
	f("\xef", "/**/a.b(\xef);")
	f(`{"a":"`+ls+`"}`, `/**/a.b({"a":"\u2028"});`)
	f(ps+ps+"x"+ls, `/**/a.b(\u2029\u2029x\u2028);`)
	f("\xe2\x80", "/**/a.b(\xe2\x80);")
	f("\xe2\x80\xe2\x80\xa8", "/**/a.b(\xe2\x80\\u2028);")
	f("\xe2\xe2\x80\xa9\xe2", "/**/a.b(\xe2\\u2029\xe2);")
	f("\"\u2026\u2014\"", "/**/a.b(\"\u2026\u2014\");") // E2 80 A6, E2 80 94
	f("1"+strings.Repeat(" ", 64), `/**/a.b(1);`)
	f("1"+strings.Repeat("\n", 70), "/**/a.b(1\n\n\n\n\n\n);")

	options := func(name, want string, set func(*Config)) {
		t.Helper()
		if got := wrap(with(t, Dotted, set), name, "{}\n"); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	options("f", `f({});`, func(c *Config) { c.Prefix = "" })
	options("f", "/* CouchDB */f({});\n", func(c *Config) { c.Prefix, c.Newline = "/* CouchDB */", true })
	options("a.b", `/**/ typeof a.b === 'function' && a.b({});`, func(c *Config) { c.Guard = true })
}

// Legacy answers have the bytes of ngx_http_jsonp_callback.
func TestLegacyBytes(t *testing.T) {
	legacy := with(t, Legacy, nil)
	f := func(body, want string) {
		t.Helper()
		if got := wrap(legacy, "cb", body); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	f(`{"status":"success", "count":1000}`, `cb({"status":"success", "count":1000});`)
	f("\ufeff{\""+ls+"\"}\n \n", "cb(\ufeff{\""+ls+"\"}\n \n);")
	f("<html>", "cb(<html>);")
}

func TestEnvelopes(t *testing.T) {
	f := func(set func(*Config), why Reason, status int, body, want string, wantStatus int) {
		t.Helper()
		filter := with(t, Dotted, set)
		c := filter.Call([]byte("f"), why, status)
		b := scan(filter, body, 0)
		if got := string(c.Append(nil, []byte(body), &b)); got != want || c.Status(status) != wantStatus || c.Length(&b) != int64(len(want)) {
			t.Errorf("got %q, length %d, status %d; want %q, status %d", got, c.Length(&b), c.Status(status), want, wantStatus)
		}
		if got := stream(filter, &c, body, 0); got != want {
			t.Errorf("streamed: got %q, want %q", got, want)
		}
	}
	envelope := func(c *Config) { c.Errors = Envelope }
	f(envelope, Enveloped, 404, `{"error":"not_found"}`+"\n", `/**/f({"status":404,"data":{"error":"not_found"}});`, 200)
	f(envelope, Enveloped, 500, "", `/**/f({"status":500,"data":null});`, 200)
	f(envelope, Enveloped, 500, "\r\n", `/**/f({"status":500,"data":null});`, 200)
	f(envelope, Enveloped, 500, strings.Repeat(" ", 66), `/**/f({"status":500,"data":  null});`, 200)
	f(envelope, Wrapped, 201, `[]`, `/**/f([]);`, 201)
	f(envelope, Wrapped, 200, "", `/**/f();`, 200)
	f(func(c *Config) { c.Errors, c.Newline, c.Guard = Envelope, true, true }, Enveloped, 404, "", "/**/ typeof f === 'function' && f({\"status\":404,\"data\":null});\n", 200)
	f(func(c *Config) { c.Errors = AsIs }, Wrapped, 404, "{}", `/**/f({});`, 404)

	var none Body // of an error that is not JSON
	c := with(t, Dotted, envelope).Call([]byte("f"), Enveloped, 502)
	if got := string(c.Append(nil, nil, &none)); got != `/**/f({"status":502,"data":null});` {
		t.Errorf("an envelope without a body: %q", got)
	}
}

func TestKinds(t *testing.T) {
	dotted, legacy := with(t, Dotted, nil), with(t, Legacy, nil)
	f := func(body string, want Kind) {
		t.Helper()
		for piece := range 8 {
			if got := scan(dotted, body, piece).Kind; got != want {
				t.Errorf("%q in pieces of %d: got %d, want %d", body, piece, got, want)
			}
		}
		if got := dotted.Look([]byte(body)); got != want {
			t.Errorf("Look(%q) = %d, want %d", body, got, want)
		}
		want = JSON
		if body == "" {
			want = Empty
		}
		if got := legacy.Look([]byte(body)); got != want {
			t.Errorf("legacy: Look(%q) = %d, want %d", body, got, want)
		}
	}
	for _, body := range []string{"{", " \r\n\t[1]", `"x"`, "-1", "0", "9", "true", "false", "null", "null\n", " true ", "\ufeff{}", "\ufeff \n{}", strings.Repeat(" ", 200) + "1"} {
		f(body, JSON)
	}
	for _, body := range []string{"", " ", "\n\r\t ", "\ufeff", "\ufeff ", strings.Repeat("\n", 100)} {
		f(body, Empty)
	}
	for _, body := range []string{"f({})", "foo", "truex", "true(", "nullable", "nul", "f", "<html>", "/**/f({})", "'x'", ")]}',\n{}", "+1", ".5", "NaN", "undefined",
		"\x1f\x8b\x08", "\xef\xbb{}", "\xef", "\v{}", "\xa0{}", ls, "\ufeff\ufeff{}"} {
		f(body, Other)
	}
}

// stream returns body as wrapped by a Writer.
func stream(f *Filter, c *Call, body string, piece int) string {
	var out bytes.Buffer
	var w Writer
	w.Reset(&out, c)
	inPieces(body, piece, func(p []byte) { _, _ = w.Write(p) }) // out returns no error
	_ = w.Close()
	return out.String()
}

var separators = strings.NewReplacer(ls, `\u2028`, ps, `\u2029`)

// cleanByDefinition returns the result of cleaner by its definition.
func cleanByDefinition(body string) string {
	body = strings.TrimPrefix(body, "\ufeff")
	end := strings.TrimRight(body, " \t\r\n")
	return separators.Replace(body[:max(len(end), len(body)-64)])
}

// checkWraps compares all ways to wrap a body with the definition.
func checkWraps(t *testing.T, body string, piece int) {
	t.Helper()
	for _, m := range []Mode{Dotted, Legacy} {
		f := with(t, m, nil)
		c := f.Call([]byte("f"), Wrapped, 200)
		want := "/**/f(" + cleanByDefinition(body) + ");"
		if m == Legacy {
			want = "f(" + body + ");"
		}
		b := scan(f, body, piece)
		if got := string(c.Append(nil, []byte(body), &b)); got != want {
			t.Errorf("%s: %q in pieces of %d: got %q, want %q", m, body, piece, got, want)
		}
		if c.Length(&b) != int64(len(want)) {
			t.Errorf("%s: %q in pieces of %d: Length is %d, want %d", m, body, piece, c.Length(&b), len(want))
		}
		if got := stream(f, &c, body, piece); got != want {
			t.Errorf("%s: %q streamed in pieces of %d: got %q, want %q", m, body, piece, got, want)
		}
	}
}

// A scanner that is reset does not depend on the previous body.
func TestScannerReset(t *testing.T) {
	for _, m := range []Mode{Dotted, Legacy} {
		f := with(t, m, nil)
		s := f.NewScanner()
		for _, body := range []string{"\ufeff[" + ls + "]\n", "\xe2\x80", " ", "x", ""} {
			s.Reset()
			_, _ = s.Write([]byte(body)) // no error is possible
			if got, want := s.Body(), scan(f, body, 0); got != want {
				t.Errorf("%s: %q: got %+v, want %+v", m, body, got, want)
			}
		}
	}
}

// TestBorders wraps bodies in pieces of every length.
func TestBorders(t *testing.T) {
	for _, body := range []string{
		"", "{}", "\ufeff{}\n", "{\"a\":\"" + ls + ps + "\"} \n", "\xe2\x80" + ls + "\xe2", "\xe2\x80\xe2\xe2\x80\xa8\x80",
		" " + ls + " " + ps + " ", "\xef\xbb" + ls, "\ufeff\ufeff", "1" + strings.Repeat(" ", 100), strings.Repeat(" ", 200),
		strings.Repeat(" ", 63) + ls + strings.Repeat("\n", 65) + "\xe2\x80", "1" + strings.Repeat(" \n", 40) + "2" + strings.Repeat("\t", 64),
	} {
		for piece := range len(body) + 1 {
			checkWraps(t, body, piece)
		}
	}
}

// TestLongBodies wraps bodies with lengths near the size of the writer's buffer.
func TestLongBodies(t *testing.T) {
	for _, size := range []int{writerBuffer - 7, writerBuffer - 6, writerBuffer - 5, writerBuffer, 2*writerBuffer - 6, 3 * writerBuffer} {
		for _, unit := range []string{"x", "x" + ls, "\u2014", "   \n"} {
			body := strings.Repeat(unit, size/len(unit)+1)[:size]
			for _, piece := range []int{0, 1000, writerBuffer - 1, writerBuffer, writerBuffer + 1} {
				checkWraps(t, body, piece)
			}
		}
	}
}

// FuzzWrap compares all ways to wrap a body, in pieces of any length, with the definition.
func FuzzWrap(f *testing.F) {
	for i, body := range []string{"{}", "\ufeff[" + ls + "]\n", "\xe2\x80", "\xe2\x80\xe2\x80\xa8 ", "  ", "\xef\xbb\xbe", "1" + strings.Repeat("\n", 70)} {
		f.Add(body, uint8(i))
	}
	f.Fuzz(func(t *testing.T, body string, piece uint8) { checkWraps(t, body, int(piece)) })
}

// calls counts the writes of a Writer. The write with the number fails returns an error.
type calls struct {
	n, fails int
	first    int // length of the first
	longest  int
}

var errFull = errors.New("full")

func (c *calls) Write(p []byte) (int, error) {
	if c.n++; c.n == c.fails {
		return 0, errFull
	}
	if c.n == 1 {
		c.first = len(p)
	}
	c.longest = max(c.longest, len(p))
	return len(p), nil
}

// A body is forwarded while it is received: short pieces are joined, long ones are not copied.
func TestWriterBuffering(t *testing.T) {
	f := with(t, Dotted, nil)
	c := f.Call([]byte("f"), Wrapped, 200)
	var to calls
	var w Writer
	w.Reset(&to, &c)
	short, long := bytes.Repeat([]byte("x"), 100), bytes.Repeat([]byte("y"), 64<<10)
	for range 30 {
		_, _ = w.Write(short)
	}
	if to.n != 0 {
		t.Errorf("%d writes after %d bytes, want 0", to.n, 30*len(short))
	}
	_, _ = w.Write(long)
	if to.n != 2 || to.first != writerBuffer || to.longest < len(long)-writerBuffer {
		t.Errorf("%d writes, the first of %d bytes and the longest of %d", to.n, to.first, to.longest)
	}
	if err := w.Close(); err != nil || to.n != 3 {
		t.Errorf("%d writes, %v", to.n, err)
	}
	if _, err := w.Write(short); err == nil || w.Close() == nil || to.n != 3 {
		t.Error("the writer can be used after Close")
	}
}

// A writer that is reset does not depend on an aborted body.
func TestWriterReset(t *testing.T) {
	var w Writer
	for _, m := range []Mode{Dotted, Legacy, Dotted} {
		f := with(t, m, nil)
		c := f.Call([]byte("f"), Wrapped, 200)
		for _, body := range []string{"\xef\xbb", "1\xe2\x80", "1  ", ""} {
			w.Reset(&calls{}, &c)
			_, _ = w.Write([]byte(body)) // calls returns no error
			var out bytes.Buffer
			w.Reset(&out, &c)
			_, _ = w.Write([]byte("\ufeff\xa8{}")) // a buffer returns no error
			if err := w.Close(); err != nil || out.String() != wrap(f, "f", "\ufeff\xa8{}") {
				t.Errorf("%s: after %q: got %q, %v", m, body, &out, err)
			}
		}
	}
}

func TestWriterFails(t *testing.T) {
	f := with(t, Dotted, nil)
	c := f.Call([]byte("f"), Wrapped, 200)
	for fails := 1; fails <= 3; fails++ {
		to := calls{fails: fails}
		var w Writer
		w.Reset(&to, &c)
		_, err := w.Write(bytes.Repeat([]byte("x"), 3*writerBuffer))
		if err == nil {
			err = w.Close()
		}
		if !errors.Is(err, errFull) || !errors.Is(w.Close(), errFull) {
			t.Errorf("after write %d failed: got %v and then %v, want %v", fails, err, w.Close(), errFull)
		}
		if _, err := w.Write([]byte("x")); !errors.Is(err, errFull) || to.n != fails {
			t.Errorf("a Write after write %d failed: got %v, %d writes", fails, err, to.n)
		}
	}
}
