package wire

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	f := func(line string, want Reply) {
		t.Helper()
		var got Reply
		if !got.Parse([]byte(line)) || fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) {
			t.Errorf("%s was parsed as\n%+v, want\n%+v", line, got, want)
		}
	}
	k := []byte("key")
	f("VALUE key 4294967295 0", Reply{Kind: Value, Key: k, Flags: 4294967295})
	f("VALUE key 1 12 18446744073709551615", Reply{Kind: Value, Key: k, Flags: 1, Size: 12, CAS: 18446744073709551615, HasCAS: true})
	f("VA 12 kkey f3 t-1 c7", Reply{Kind: Value, Meta: true, Key: k, Flags: 3, Size: 12, CAS: 7, HasCAS: true, TTL: -1, HasTTL: true})
	f("VA 0 kkey t30 W X Z", Reply{Kind: Value, Meta: true, Key: k, TTL: 30, HasTTL: true, Won: true, Stale: true, Waiting: true})
	f("VA 3 kkey h1 l5 s3 Oabc", Reply{Kind: Value, Meta: true, Key: k, Size: 3})
	f("END", Reply{Kind: End})
	f("EN", Reply{Kind: Miss})
	f("EN kkey Oabc", Reply{Kind: Miss, Key: k})
	f("HD", Reply{Kind: Done})
	f("HD Oabc", Reply{Kind: Done, Text: []byte("Oabc")})
	f("STORED", Reply{Kind: Stored})
	f("NOT_STORED", Reply{Kind: NotStored})
	f("NS", Reply{Kind: NotStored})
	f("EXISTS", Reply{Kind: Exists})
	f("EX", Reply{Kind: Exists})
	f("NOT_FOUND", Reply{Kind: NotFound})
	f("NF", Reply{Kind: NotFound})
	f("DELETED", Reply{Kind: Deleted})
	f("MN", Reply{Kind: NoOp})
	f("VERSION 1.6.18", Reply{Kind: Release, Text: []byte("1.6.18")})
	f("STAT item_size_max 1048576", Reply{Kind: Stat, Text: []byte("item_size_max 1048576")})
	f("ERROR", Reply{Kind: Error})
	f("CLIENT_ERROR bad command line format", Reply{Kind: ClientError, Text: []byte("bad command line format")})
	f("SERVER_ERROR out of memory", Reply{Kind: ServerError, Text: []byte("out of memory")})
}

func TestParseFails(t *testing.T) {
	f := func(line string) {
		t.Helper()
		var got Reply
		if got.Parse([]byte(line)) {
			t.Errorf("%q was parsed as %+v, want an error", line, got)
		}
	}
	for _, line := range strings.Split(`
 END
END of it
EN k
EN kkey  Oabc
ENDED
end
STORED 1
HTTP/1.1 200 OK
VALUE
VALUE key
VALUE key 0
VALUE  0 3
VALUE key 0 -3
VALUE key 0 +3
VALUE key 0 3x
VALUE key  0 3
VALUE key x 3
VALUE key 4294967296 3
VALUE key 0 9223372036854775807
VALUE key 0 18446744073709551616
VALUE key 0 3 x
VALUE key 0 3 5 7
VA
VA x kkey
VA 3
VA 3 f1
VA 3 k
VA 3 kkey f
VA 3 kkey f-1
VA 3 kkey c
VA 3 kkey cx
VA 3 kkey t-2
VA 3 kkey t4294967296
VA 3 kkey  f1
VA -3 kkey
EN  kkey
EN kkey fx
ENkkey`, "\n") {
		f(line)
	}
	f("VALUE " + strings.Repeat("k", 251) + " 0 3")
	f("VALUE k\r 0 3")
	f("END\r")
}

// stream returns the lines and values that a Reader parses from a stream in pieces of the
// sizes that cut returns.
func stream(b []byte, cut func() int) (got []string, fault error) {
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
				got, valuing = append(got, "value "+string(value)), false
			}
		}
		var line []byte
		if !valuing {
			var err error
			if line, err = d.Line(); err != nil {
				return got, err
			}
		}
		switch {
		case line != nil:
			got = append(got, "line "+string(line))
			if r.Parse(line) && r.Kind == Value && r.Size < 1<<20 {
				d.Begin(nil, int(r.Size))
				valuing = true
			}
			continue
		case len(b) == 0:
			return got, nil
		}
		n := copy(d.Room(), b[:min(len(b), max(1, cut()))])
		d.Filled(n)
		b = b[n:]
	}
}

func TestReader(t *testing.T) {
	f := func(in string, fault error, want ...string) {
		t.Helper()
		for piece := range 20 {
			got, err := stream([]byte(in), func() int { return piece })
			if fmt.Sprintf("%.99q", got) != fmt.Sprintf("%.99q", want) || !errors.Is(err, fault) {
				t.Errorf("%.60q in pieces of %d: got %.99q, %v; want %.99q, %v", in, piece, got, err, want, fault)
			}
		}
	}
	f("END\r\n", nil, "line END")
	f("END\r\nEND\r", nil, "line END")
	f("END\n", ErrGarbled)
	f("\r\n\n", ErrGarbled, "line ")
	f("VALUE k 0 5\r\nEND\r\n\r\nEND\r\n", nil, "line VALUE k 0 5", "value END\r\n", "line END")
	f("VALUE k 0 0\r\n\r\nEND\r\n", nil, "line VALUE k 0 0", "value ", "line END")
	f("VALUE k 0 3\r\nabcd\r\n", ErrGarbled, "line VALUE k 0 3")
	f("VALUE k 0 3\r\nabc\rx", ErrGarbled, "line VALUE k 0 3")
	f("VALUE k 0 3\r\nab\r\nEND\r\n", ErrGarbled, "line VALUE k 0 3")
	large := strings.Repeat("0123456789", 3000)
	f("VALUE k 0 30000\r\n"+large+"\r\nEND\r\n", nil, "line VALUE k 0 30000", "value "+large, "line END")
	f(strings.Repeat("x", maxLine-2)+"\r\n", nil, "line "+strings.Repeat("x", maxLine-2))
	f(strings.Repeat("x", maxLine-1)+"\r\n", ErrGarbled)
}

// TestReaderDirectly checks that a large value is read into the given memory.
func TestReaderDirectly(t *testing.T) {
	d := NewReader(0)
	memory := make([]byte, 0, 100_000)
	d.Begin(memory, 100_000)
	room := d.Room()
	if len(room) != 100_000 || &room[0] != &memory[:1][0] {
		t.Fatalf("Room has %d bytes, or is not the given memory", len(room))
	}
	d.Filled(copy(room, bytes.Repeat([]byte("x"), 99_000)))
	if room = d.Room(); &room[0] == &memory[:99_001][99_000] {
		t.Error("the last bytes are not read through the buffer, which would receive the next reply too")
	}
	d.Filled(copy(room, strings.Repeat("y", 1000)+"\r\nEND\r\n"))
	value, whole, err := d.Data()
	if !whole || err != nil || &value[0] != &memory[:1][0] || value[98_999] != 'x' || value[99_000] != 'y' || len(value) != 100_000 {
		t.Errorf("%d bytes, whole %t, %v", len(value), whole, err)
	}
	if line, err := d.Line(); string(line) != "END" || err != nil || d.Buffered() != 0 {
		t.Errorf("then %q, %v, %d bytes", line, err, d.Buffered())
	}
}

// FuzzReader reads arbitrary streams in arbitrary pieces: the result must not depend on the
// pieces, and must be the beginning of the stream.
func FuzzReader(f *testing.F) {
	f.Add([]byte("VALUE k 0 5\r\nEND\r\n\r\nEND\r\n"), uint64(1))
	f.Add([]byte("VA 3 kkey f3 t-1 c7 W\r\nabc\r\nEN\r\nHD\r\n"), uint64(2))
	f.Add([]byte("SERVER_ERROR x\r\nVALUE k 0 18446744073709551615\r\n"), uint64(3))
	f.Add([]byte("VALUE k 0 5000\r\n"+strings.Repeat("v", 5000)+"\r\nEND\r\n"), uint64(4))
	f.Fuzz(func(t *testing.T, b []byte, seed uint64) {
		whole, fault := stream(b, func() int { return len(b) })
		random := rand.New(rand.NewPCG(seed, 0))
		pieces, err := stream(b, func() int { return 1 + random.IntN(9) })
		if fmt.Sprintf("%q", whole) != fmt.Sprintf("%q", pieces) || !errors.Is(err, fault) {
			t.Errorf("%q is read as\n%q, %v, in pieces as\n%q, %v", b, whole, fault, pieces, err)
		}
		again := ""
		for _, s := range whole {
			_, text, _ := strings.Cut(s, " ")
			again += text + "\r\n"
		}
		if !bytes.HasPrefix(b, []byte(again)) {
			t.Errorf("%q is read as %q", b, again)
		}
	})
}
