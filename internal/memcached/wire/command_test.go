package wire

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestCheckKey(t *testing.T) {
	f := func(key string, ok bool) {
		t.Helper()
		if err := CheckKey([]byte(key)); (err == nil) != ok {
			t.Errorf("%q: got the error %v, want success: %v", key, err, ok)
		}
	}
	f("a", true)
	f("!~", true)
	f("\x80\xff", true)
	f("ключ", true)
	f(strings.Repeat("k", 250), true)
	f(strings.Repeat("k", 251), false)
	f("", false)
	f("a b", false)
	f("a\r\nset evil 0 0 4\r\npwnd", false)
	for c := range 0x21 {
		f("a"+string(rune(c)), false)
	}
	f("\x7f", false)
}

func TestCommand(t *testing.T) {
	f := func(c Command, want string) {
		t.Helper()
		var w Writer
		c.Key = []byte("some:key")
		if err := w.Command(&c); err != nil || string(w.Bytes()) != newlines.Replace(want) {
			t.Errorf("got %q (%v), want %q", w.Bytes(), err, want)
		}
		// A command with an invalid key is not written. Some commands have no key.
		c.Key = []byte("a\r\nflush_all")
		before := string(w.Bytes())
		if err := w.Command(&c); c.Op < Probe && (!errors.Is(err, ErrKey) || string(w.Bytes()) != before) {
			t.Errorf("a bad key: %v, %q", err, w.Bytes())
		}
	}
	f(Command{Op: Get}, `get some:key\r\n`)
	f(Command{Op: MetaGet}, `mg some:key k f v t c\r\n`)
	f(Command{Op: MetaGet, Refresh: 30}, `mg some:key k f v t c R30\r\n`)
	f(Command{Op: Add, Value: []byte("one"), Flags: 4294967295, Expires: 60}, `add some:key 4294967295 60 3\r\none\r\n`)
	f(Command{Op: Set, Value: []byte("\r\n"), CAS: 5}, `set some:key 0 0 2\r\n\r\n\r\n`)
	f(Command{Op: CAS, Expires: -1, CAS: 18446744073709551615}, `cas some:key 0 -1 0 18446744073709551615\r\n\r\n`)
	f(Command{Op: Delete}, `delete some:key\r\n`)
	f(Command{Op: MarkStale, Expires: 30}, `md some:key I T30\r\n`)
	f(Command{Op: MarkStale, Expires: 30, CAS: 7}, `md some:key I T30 C7\r\n`)
	f(Command{Op: Probe}, `mn\r\n`)
	f(Command{Op: Version}, `version\r\n`)
	f(Command{Op: Settings}, `stats settings\r\n`)
	var w Writer
	if err := w.Command(&Command{Op: 200}); err == nil {
		t.Error("an unknown command was written")
	}
}

var newlines = strings.NewReplacer(`\r`, "\r", `\n`, "\n")

// TestLines checks which gets are joined on one line.
func TestLines(t *testing.T) {
	var w Writer
	get := func(key string, wantOpens bool, wantErr error) {
		t.Helper()
		if opens, err := w.Get([]byte(key)); opens != wantOpens || !errors.Is(err, wantErr) {
			t.Errorf("%q: got opens %t, %v; want %t, %v", key, opens, err, wantOpens, wantErr)
		}
	}
	want := func(text string) {
		t.Helper()
		if string(w.Bytes()) != text {
			t.Errorf("got %q, want %q", w.Bytes(), text)
		}
		w.Reset()
	}
	get("a", true, nil)
	get("b c", false, ErrKey)
	get("d", false, nil)
	if err := w.Command(&Command{Op: Delete, Key: []byte("e")}); err != nil {
		t.Error(err)
	}
	get("", false, ErrKey)
	get("f", true, nil)
	want("get a d\r\ndelete e\r\nget f\r\n")
	want("")
	line := "get"
	for n := range maxKeys {
		get(fmt.Sprint("k", n), n == 0, nil)
		line += fmt.Sprint(" k", n)
	}
	get("more", true, nil)
	want(line + "\r\nget more\r\n")
	w.buf = make([]byte, maxKept+1)
	w.Reset()
	if cap(w.buf) != 0 {
		t.Errorf("a buffer of %d bytes is kept, want it dropped", cap(w.buf))
	}
}

// FuzzCommands writes commands with arbitrary keys and values and parses them as a server does:
// the result must be these commands.
func FuzzCommands(f *testing.F) {
	f.Add([]byte("a"), []byte("b"), []byte("value"), uint8(2), uint8(0))
	f.Add([]byte("a\r\nset evil 0 0 4\r\npwnd"), []byte("b c"), []byte("\r\nflush_all\r\n"), uint8(3), uint8(5))
	f.Add([]byte("a\n"), []byte("\x00"), []byte(""), uint8(4), uint8(6))
	f.Fuzz(func(t *testing.T, a, b, value []byte, first, second uint8) {
		var w Writer
		var want []string
		add := func(op Op, key []byte) {
			c := Command{Op: op % (Settings + 1), Key: key, Value: value, CAS: 9}
			if c.Op == Get {
				if opens, err := w.Get(key); err == nil && opens {
					want = append(want, "get "+string(key))
				} else if err == nil {
					want[len(want)-1] += " " + string(key)
				}
				return
			}
			if err := w.Command(&c); err == nil {
				want = append(want, c.String())
			}
		}
		add(Op(first), a)
		add(Op(second), b)
		if got := parseCommands(t, w.Bytes()); fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
			t.Errorf("%q is read as %q, want %q", w.Bytes(), got, want)
		}
	})
}

// String returns a command as parseCommands does: its name, key and value.
func (c *Command) String() string {
	switch c.Op {
	case MetaGet:
		return "mg " + string(c.Key)
	case Add, Set, CAS:
		return stores[c.Op] + " " + string(c.Key) + " " + string(c.Value)
	case Delete:
		return "delete " + string(c.Key)
	case MarkStale:
		return "md " + string(c.Key)
	}
	return [...]string{Probe: "mn", Version: "version", Settings: "stats"}[c.Op]
}

// parseCommands splits at LF and then at spaces, as memcached does.
func parseCommands(t *testing.T, b []byte) (list []string) {
	for len(b) > 0 {
		line, rest, ok := bytes.Cut(b, []byte("\n"))
		if !ok || !bytes.HasSuffix(line, []byte("\r")) {
			t.Fatalf("%q has no CRLF", b)
		}
		b = rest
		words := strings.Split(strings.TrimSuffix(string(line), "\r"), " ")
		switch words[0] {
		case "get":
			list = append(list, strings.Join(words, " "))
		case "add", "set", "cas":
			var size int
			if _, err := fmt.Sscan(words[4], &size); err != nil || len(b) < size+2 || string(b[size:size+2]) != "\r\n" {
				t.Fatalf("%q is followed by %q", line, b)
			}
			list = append(list, words[0]+" "+words[1]+" "+string(b[:size]))
			b = b[size+2:]
		case "mg", "delete", "md":
			list = append(list, words[0]+" "+words[1])
		default:
			list = append(list, words[0])
		}
	}
	return list
}
