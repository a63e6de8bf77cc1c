package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// frame returns a binary command or reply. In a command, status is the bucket.
func frame(magic, opcode byte, status uint16, opaque uint32, cas uint64, extras, key, value string) string {
	b := binary.BigEndian.AppendUint16([]byte{magic, opcode}, uint16(len(key)))
	b = append(b, byte(len(extras)), 0)
	b = binary.BigEndian.AppendUint16(b, status)
	b = binary.BigEndian.AppendUint32(b, uint32(len(extras)+len(key)+len(value)))
	b = binary.BigEndian.AppendUint32(b, opaque)
	b = binary.BigEndian.AppendUint64(b, cas)
	return string(b) + extras + key + value
}

func TestBinary(t *testing.T) {
	f := func(c Command, want string) {
		t.Helper()
		var w Writer
		if c.Key == nil {
			c.Key = []byte("some:key")
		}
		if err := w.Binary(&c, 0x01020304); err != nil || string(w.Bytes()) != want {
			t.Errorf("got %q (%v), want\n%q", w.Bytes(), err, want)
		}
		before := string(w.Bytes())
		for _, key := range []string{"", "a\r\nflush_all", "a b", strings.Repeat("k", 251)} {
			c.Key = []byte(key)
			if err := w.Binary(&c, 1); c.Op < Probe && (!errors.Is(err, ErrKey) || string(w.Bytes()) != before) {
				t.Errorf("the key %q: %v, %q", key, err, w.Bytes())
			}
		}
	}
	f(Command{Op: Get}, "\x80\x0c\x00\x08\x00\x00\x00\x00\x00\x00\x00\x08\x01\x02\x03\x04\x00\x00\x00\x00\x00\x00\x00\x00some:key")
	f(Command{Op: Add, Value: []byte("one"), Flags: 4294967295, Expires: 60},
		"\x80\x02\x00\x08\x08\x00\x00\x00\x00\x00\x00\x13\x01\x02\x03\x04\x00\x00\x00\x00\x00\x00\x00\x00\xff\xff\xff\xff\x00\x00\x00\x3csome:keyone")
	command := func(opcode byte, cas uint64, extras, key, value string) string {
		return frame(0x80, opcode, 0, 0x01020304, cas, extras, key, value)
	}
	f(Command{Op: Set, Value: []byte("\r\n"), CAS: 5}, command(1, 0, "\x00\x00\x00\x00\x00\x00\x00\x00", "some:key", "\r\n"))
	f(Command{Op: Set, Expires: -1}, command(1, 0, "\x00\x00\x00\x00\x00\x27\x8d\x01", "some:key", ""))
	f(Command{Op: Set, Expires: 1 << 33}, command(1, 0, "\x00\x00\x00\x00\xff\xff\xff\xff", "some:key", ""))
	f(Command{Op: CAS, Flags: 7, CAS: 1<<64 - 1}, command(1, 1<<64-1, "\x00\x00\x00\x07\x00\x00\x00\x00", "some:key", ""))
	f(Command{Op: Delete, CAS: 5, Value: []byte("x")}, command(4, 0, "", "some:key", ""))
	f(Command{Op: Probe}, command(0x0a, 0, "", "", ""))
	f(Command{Op: Version}, command(0x0b, 0, "", "", ""))
	f(Command{Op: Settings}, command(0x10, 0, "", "settings", ""))
	f(Command{Op: Login, Value: []byte("\x00ann\x00secret")}, command(0x21, 0, "", "PLAIN", "\x00ann\x00secret"))
}

func TestBinaryFails(t *testing.T) {
	f := func(c Command, want error) {
		t.Helper()
		var w Writer
		c.Key = []byte("k")
		if err := w.Binary(&c, 1); !errors.Is(err, want) || len(w.buf) != 0 {
			t.Errorf("%d: got %v and wrote %q, want %v", c.Op, err, w.Bytes(), want)
		}
	}
	f(Command{Op: MetaGet}, errOp)
	f(Command{Op: MarkStale}, errOp)
	f(Command{Op: Login + 1}, errOp)
	f(Command{Op: 200}, errOp)
	f(Command{Op: CAS}, ErrCAS)
	var w Writer
	if err := w.Command(&Command{Op: Login, Value: []byte("x")}); !errors.Is(err, errOp) || len(w.buf) != 0 {
		t.Errorf("a login in text: %v, %q", err, w.Bytes())
	}
}

func TestParseBinary(t *testing.T) {
	f := func(opcode byte, status uint16, extras, key string, value string, want Reply) {
		t.Helper()
		d := NewReader(0)
		d.Filled(copy(d.Room(), frame(0x81, opcode, status, 9, 7, extras, key, value)))
		head, err := d.Head()
		var got Reply
		want.opcode, want.Status, want.Opaque, want.CAS, want.HasCAS = opcode, status, 9, 7, true
		want.Key, want.Size = []byte(key), int64(len(value))
		if err != nil || !got.ParseBinary(head) || fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) {
			t.Errorf("%d, %d: got %v,\n%+v, want\n%+v", opcode, status, err, got, want)
		}
	}
	const get, set, add, del, noop, version, stat, login = 0x0c, 1, 2, 4, 0x0a, 0x0b, 0x10, 0x21
	f(get, 0, "\x00\x00\x00\x05", "key", "value", Reply{Kind: Value, Flags: 5})
	f(get, 0, "\xff\xff\xff\xff", "k", "", Reply{Kind: Value, Flags: 1<<32 - 1})
	f(get, 1, "", "key", "", Reply{Kind: Miss})
	f(get, 1, "", "", "Not found", Reply{Kind: Miss})
	f(set, 0, "", "", "", Reply{Kind: Stored})
	f(set, 1, "", "", "Not found", Reply{Kind: NotFound})
	f(set, 2, "", "", "Data exists for key.", Reply{Kind: Exists})
	f(set, 3, "", "", "Too large.", Reply{Kind: TooLarge})
	f(set, 5, "", "", "Not stored.", Reply{Kind: NotStored})
	f(set, 0x82, "", "", "Out of memory", Reply{Kind: ServerError})
	f(set, 0x84, "", "", "", Reply{Kind: ServerError})
	f(set, 0x85, "", "", "", Reply{Kind: ServerError})
	f(set, 0x86, "", "", "", Reply{Kind: ServerError})
	f(add, 0, "", "", "", Reply{Kind: Stored})
	f(add, 2, "", "", "Data exists for key.", Reply{Kind: NotStored})
	f(del, 0, "", "", "", Reply{Kind: Deleted})
	f(del, 1, "", "", "", Reply{Kind: NotFound})
	f(noop, 0, "", "", "", Reply{Kind: NoOp})
	f(version, 0, "", "", "1.6.18", Reply{Kind: Release})
	f(stat, 0, "", "item_size_max", "1048576", Reply{Kind: Stat})
	f(stat, 0, "", "", "", Reply{Kind: End})
	f(login, 0, "", "", "Authenticated", Reply{Kind: Done})
	f(login, 0x20, "", "", "Auth failure.", Reply{Kind: ClientError})
	f(0x77, 0x81, "", "", "Unknown command", Reply{Kind: Error})
	f(get, 4, "", "", "Invalid arguments", Reply{Kind: ClientError})
}

func TestParseBinaryFails(t *testing.T) {
	f := func(head string) {
		t.Helper()
		var got Reply
		if got.ParseBinary([]byte(head)) {
			t.Errorf("%q was parsed as %+v, want an error", head, got)
		}
	}
	good := frame(0x81, 0x0c, 0, 1, 1, "\x00\x00\x00\x05", "key", "")
	var r Reply
	if !r.ParseBinary([]byte(good)) || !r.Answers(Get) || r.Answers(Set) || r.Answers(MetaGet) {
		t.Errorf("got %+v", r)
	}
	f("")
	f(good[:23])
	f(good[:len(good)-1])
	f(good + "x")
	f("\x80" + good[1:])                                             // a command
	f(good[:5] + "\x01" + good[6:])                                  // a kind of data that was not agreed on
	f(good[:8] + "\x00\x00\x00\x06" + good[12:])                     // a body shorter than extras and key
	f(frame(0x81, 0x0c, 0, 1, 1, "", "key", ""))                     // no flags
	f(frame(0x81, 0x0c, 0, 1, 1, "\x00\x00\x00\x05\x00", "key", "")) // more than flags
	f(frame(0x81, 0x0c, 0, 1, 1, "\x00\x00\x00\x05", "", ""))        // no key
	f(frame(0x81, 0x0c, 0, 1, 1, "\x00\x00\x00\x05", "a b", ""))     // none that was sent
	f(frame(0x81, 0x00, 0, 1, 1, "\x00\x00\x00\x05", "", ""))        // GET, which is never sent
}

// replies returns the replies that a Reader parses from a binary stream in pieces of the
// sizes that cut returns. Values above 64 KiB end it.
func replies(b []byte, cut func() int) (got []string, fault error) {
	d := NewReader(0)
	r := &Reply{}
	valuing := false
	for {
		if valuing {
			value, whole, err := d.Data()
			if err != nil {
				return got, err
			}
			if whole {
				got, valuing = append(got, string(value)), false
				continue
			}
		} else {
			head, err := d.Head()
			if err != nil {
				return got, err
			}
			if head != nil {
				if !r.ParseBinary(head) || r.Size > 1<<16 {
					return got, ErrGarbled
				}
				got = append(got, string(head))
				d.BeginBody(nil, int(r.Size))
				valuing = true
				continue
			}
		}
		if len(b) == 0 {
			return got, nil
		}
		n := copy(d.Room(), b[:min(len(b), max(1, cut()))])
		d.Filled(n)
		b = b[n:]
	}
}

func TestHead(t *testing.T) {
	f := func(in string, fault error, want ...string) {
		t.Helper()
		for _, piece := range []int{1, 2, 3, 5, 7, 23, 24, 25, 31, 4000, 100_000} {
			got, err := replies([]byte(in), func() int { return piece })
			if fmt.Sprintf("%.99q", got) != fmt.Sprintf("%.99q", want) || !errors.Is(err, fault) {
				t.Errorf("%.60q in pieces of %d: got %.99q, %v; want %.99q, %v", in, piece, got, err, want, fault)
			}
		}
	}
	hit := frame(0x81, 0x0c, 0, 1, 1, "\x00\x00\x00\x05", "key", "")
	with := func(value string) string { return frame(0x81, 0x0c, 0, 1, 1, "\x00\x00\x00\x05", "key", value) }
	f(hit, nil, hit, "")
	f(with("\x81value\r\n"), nil, with("\x81value\r\n")[:31], "\x81value\r\n")
	f(hit+hit+with("x"), nil, hit, "", hit, "", with("x")[:31], "x")
	large := strings.Repeat("0123456789", 3000)
	f(with(large)+hit, nil, with(large)[:31], large, hit, "")
	f(with(large)[:20_000], nil, with(large)[:31])
	f(hit[:30], nil)
	f(hit+"ERROR\r\n", ErrGarbled, hit, "")
	f("E", ErrGarbled)
	f(hit[:2]+"\x00\xfb"+hit[4:8]+"\x00\x00\x01\x00"+hit[12:], ErrGarbled) // a key of 251 bytes
	f(hit[:8]+"\x00\x00\x00\x06"+hit[12:], ErrGarbled)                     // a body shorter than extras and key
	f(hit[:8]+"\xff\xff\xff\xff"+hit[12:], ErrGarbled)                     // 4 GiB
}

// TestBodyDirectly checks that a large body is read into the given memory, and the following
// bytes into the buffer.
func TestBodyDirectly(t *testing.T) {
	d := NewReader(0)
	memory := make([]byte, 0, 100_000)
	d.BeginBody(memory, 100_000)
	room := d.Room()
	if len(room) != 100_000 || &room[0] != &memory[:1][0] {
		t.Fatalf("Room has %d bytes, or is not the given memory", len(room))
	}
	d.Filled(copy(room, bytes.Repeat([]byte("x"), 100_000)))
	value, whole, err := d.Data()
	if !whole || err != nil || len(value) != 100_000 || &value[0] != &memory[:1][0] {
		t.Errorf("%d bytes, whole %t, %v", len(value), whole, err)
	}
	d.Begin(memory, 3) // a value that CRLF follows
	d.Filled(copy(d.Room(), "abc"))
	if _, whole, err := d.Data(); whole || err != nil {
		t.Errorf("whole %t without CRLF, %v", whole, err)
	}
}

// FuzzBinaryCommands writes two arbitrary commands and parses them as a server does: the result
// must be these commands.
func FuzzBinaryCommands(f *testing.F) {
	f.Add([]byte("a"), []byte("b"), []byte("value"), uint8(2), uint8(0))
	f.Add([]byte("a\x80\x01"), []byte("b c"), []byte("\x80\x08"), uint8(3), uint8(5))
	f.Add([]byte("a\n"), []byte("\x00"), []byte(""), uint8(4), uint8(10))
	f.Fuzz(func(t *testing.T, a, b, value []byte, first, second uint8) {
		var w Writer
		var want []string
		add := func(op Op, key []byte, opaque uint32) {
			c := Command{Op: op % (Login + 1), Key: key, Value: value, CAS: 9}
			if w.Binary(&c, opaque) != nil {
				return
			}
			switch c.Op {
			case Probe, Version:
				key = nil
			case Settings:
				key = []byte("settings")
			case Login:
				key = []byte("PLAIN")
			}
			body := ""
			if c.Op == Add || c.Op == Set || c.Op == CAS || c.Op == Login {
				body = string(value)
			}
			want = append(want, fmt.Sprintf("%d %d %q %q", opcodes[c.Op], opaque, key, body))
		}
		add(Op(first), a, 1)
		add(Op(second), b, 1<<31)
		var got []string
		for in := w.Bytes(); len(in) > 0; {
			key, extras, size := lengths(in)
			if in[0] != 0x80 || len(in) < headSize+size {
				t.Fatalf("%q is not a command", in)
			}
			body := in[headSize+extras : headSize+size]
			got = append(got, fmt.Sprintf("%d %d %q %q", in[1], binary.BigEndian.Uint32(in[12:]), body[:key], body[key:]))
			in = in[headSize+size:]
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%q is read as %q, want %q", w.Bytes(), got, want)
		}
	})
}

// FuzzBinaryReader reads arbitrary streams in arbitrary pieces: the result must not depend on
// the pieces, and must be the beginning of the stream.
func FuzzBinaryReader(f *testing.F) {
	hit := frame(0x81, 0x0c, 0, 1, 1, "\x00\x00\x00\x05", "key", "value")
	f.Add([]byte(hit+hit+frame(0x81, 0x0c, 1, 2, 0, "", "other", "")), uint64(1))
	f.Add([]byte(frame(0x81, 1, 3, 3, 0, "", "", "Too large.")+frame(0x81, 0x0a, 0, 4, 0, "", "", "")+hit[:30]), uint64(2))
	f.Add([]byte(frame(0x81, 0x0c, 0, 1, 1, "\x00\x00\x00\x05", "key", strings.Repeat("v", 9000))+"ERROR\r\n"), uint64(3))
	f.Add([]byte(hit[:8]+"\xff\xff\xff\xff"+hit[12:]), uint64(4))
	f.Fuzz(func(t *testing.T, b []byte, seed uint64) {
		whole, fault := replies(b, func() int { return len(b) })
		random := rand.New(rand.NewPCG(seed, 0))
		pieces, err := replies(b, func() int { return 1 + random.IntN(9) })
		if fmt.Sprintf("%q", whole) != fmt.Sprintf("%q", pieces) || !errors.Is(err, fault) {
			t.Errorf("%q is read as\n%q, %v, in pieces as\n%q, %v", b, whole, fault, pieces, err)
		}
		if !bytes.HasPrefix(b, []byte(strings.Join(whole, ""))) {
			t.Errorf("%q is read as %q", b, whole)
		}
	})
}
