package forwardtest

import (
	"bytes"
	"encoding/hex"
	"io"
	"net"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/tinylib/msgp/msgp"
)

// entry is [1700000000, {"a": 1}], entryNano the same 5 ns later.
const (
	entry     = "92 ce 65 53 f1 00 81 a1 61 01"
	entryNano = "92 d7 00 65 53 f1 00 00 00 00 05 81 a1 61 01"
)

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// packed returns [tag, entries, option] with the pairs of names and values in option.
func packed(entries []byte, option ...any) []byte {
	b := msgp.AppendArrayHeader(nil, 3)
	b = msgp.AppendString(b, "t")
	b = msgp.AppendBytes(b, entries)
	b = msgp.AppendMapHeader(b, uint32(len(option)/2))
	for _, v := range option {
		b, _ = msgp.AppendIntf(b, v)
	}
	return b
}

func gzipped(parts ...[]byte) []byte {
	var b bytes.Buffer
	for _, p := range parts {
		z := gzip.NewWriter(&b)
		_, _ = z.Write(p)
		_ = z.Close()
	}
	return b.Bytes()
}

func zstded(b []byte) []byte {
	z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		panic(err)
	}
	return z.EncodeAll(b, nil)
}

func TestModes(t *testing.T) {
	whole, nano := time.Unix(1700000000, 0), time.Unix(1700000000, 5)
	f := func(sent []byte, mode Mode, elems int, times ...time.Time) {
		t.Helper()
		r := New(t, Options{})
		c := dial(t, r)
		send(t, c, sent)
		r.Wait(t, len(times))
		m := r.Messages()[0]
		if m.Mode != mode || m.Elems != elems || m.Tag != "t" || m.Events != len(times) {
			t.Errorf("message %+v", m)
		}
		for i, e := range r.Events() {
			want := Event{Tag: "t", Time: times[i], Nano: times[i] == nano, Record: map[string]any{"a": int64(1)}}
			if !reflect.DeepEqual(e, want) {
				t.Errorf("event %+v; want %+v", e, want)
			}
		}
	}
	one, five := unhex(t, entry), unhex(t, entryNano)
	f(unhex(t, "93 a1 74 ce 65 53 f1 00 81 a1 61 01"), ModeMessage, 3, whole)
	f(unhex(t, "94 a1 74 d7 00 65 53 f1 00 00 00 00 05 81 a1 61 01 80"), ModeMessage, 4, nano)
	f(unhex(t, "94 a1 74 c7 08 00 65 53 f1 00 00 00 00 05 81 a1 61 01 80"), ModeMessage, 4, nano)
	f(unhex(t, "92 a1 74 91"+entry), ModeForward, 2, whole)
	f(unhex(t, "93 a1 74 92"+entry+entryNano+"80"), ModeForward, 3, whole, nano)
	f(unhex(t, "93 a1 74 c4 0a"+entry+"81 a4 73 69 7a 65 01"), ModePacked, 3, whole)
	f(unhex(t, "92 a1 74 aa"+entry), ModePacked, 2, whole)
	f(packed(gzipped(one), "compressed", "gzip"), ModeCompressed, 3, whole)
	f(packed(gzipped(one, five), "compressed", "gzip", "size", 2), ModeCompressed, 3, whole, nano)
	f(packed(zstded(one), "compressed", "zstd"), ModeCompressed, 3, whole)
	f(packed(one, "compressed", "text"), ModePacked, 3, whole)
}

func TestInvalidMessages(t *testing.T) {
	f := func(sent []byte, want string) {
		t.Helper()
		r := New(t, Options{})
		c := dial(t, r)
		send(t, c, sent)
		_ = c.(*net.TCPConn).CloseWrite()
		r.WaitAccepted(t, 1)
		r.WaitOpen(t, 0)
		errs := r.Errors()
		if len(errs) != 1 || !strings.Contains(errs[0].Error(), want) {
			t.Errorf("errors %v; want one with %q", errs, want)
		}
		if r.Total() != 0 {
			t.Errorf("got %d events, want none", r.Total())
		}
	}
	one := unhex(t, entry)
	f(unhex(t, "91 a1 74"), "array of 1")
	f(unhex(t, "93 01 ce 65 53 f1 00 81 a1 61 01"), "tag")
	f(unhex(t, "93 a1 74 ce 65 53 f1 00 a1 61"), "record is a string")
	f(unhex(t, "93 a1 74 c3 81 a1 61 01"), "time is a bool")
	f(unhex(t, "93 a1 74 c4 0b"+entry+"c0 80"), "entry 1")
	f(unhex(t, "93 a1 74 c4 0a"+entry+"c0"), "option")
	f(packed(one, "size", 2), "size is 2 of 1")
	f(packed(one, "chunk", []byte("AA==")), "chunk is []uint8")
	f(packed(one, "compressed", "gzip"), "gzip")
	f(packed(one, "compressed", "lzo"), "compressed is lzo")
}

func TestAcknowledges(t *testing.T) {
	r := New(t, Options{})
	c := dial(t, r)
	send(t, c, packed(unhex(t, entry), "chunk", "AA=="))
	expect(t, c, unhex(t, "81 a3 61 63 6b a4 41 41 3d 3d"))

	r.HoldAcks()
	send(t, c, packed(unhex(t, entry), "chunk", "AQ=="))
	send(t, c, packed(unhex(t, entry), "chunk", "Ag=="))
	r.Wait(t, 3)
	r.ReleaseAcks()
	expect(t, c, unhex(t, "81 a3 61 63 6b a4 41 51 3d 3d 81 a3 61 63 6b a4 41 67 3d 3d"))
	if got := r.Chunks(); len(got) != 3 || got["AQ=="] != 1 {
		t.Errorf("chunks %v", got)
	}
}

func TestFaults(t *testing.T) {
	message := packed(unhex(t, entry), "chunk", "AA==")
	// f sends a message and compares the received answers until the connection ends.
	f := func(b Behaviour, answer string, events int) {
		t.Helper()
		r := New(t, Options{})
		r.Behave(b)
		var got []byte
		if c, err := net.Dial("tcp", r.Address()); err == nil { // a reset may arrive before Dial returns
			defer c.Close()
			_, _ = c.Write(message)
			_ = c.(*net.TCPConn).CloseWrite()
			got, _ = io.ReadAll(c)
		}
		if string(got) != answer || r.Total() != events {
			t.Errorf("%+v: got answer %q and %d events, want %q and %d", b, got, r.Total(), answer, events)
		}
	}
	f(Behaviour{}, "\x81\xa3ack\xa4AA==", 1)
	f(Behaviour{Refuse: true}, "", 0)
	f(Behaviour{Refuse: true, Reset: true}, "", 0)
	f(Behaviour{CloseAfter: len(message) - 1}, "", 0)
	f(Behaviour{CloseAfter: len(message) - 1, Reset: true}, "", 0)
	f(Behaviour{HalfOpen: true}, "", 0)
	f(Behaviour{AckNever: true}, "", 1)
	f(Behaviour{AckClose: true}, "", 1)
	f(Behaviour{AckWrong: true}, "\x81\xa3ack\xb8bm90IHdoYXQgd2FzIHNlbnQ=", 1)
	f(Behaviour{Hello: []byte("HTTP/1.1 400")}, "HTTP/1.1 400\x81\xa3ack\xa4AA==", 1)
}

func TestRestartsOnItsAddress(t *testing.T) {
	for _, network := range []string{"tcp", "unix"} {
		r := New(t, Options{Network: network})
		address := r.Address()
		c := dial(t, r)
		r.WaitOpen(t, 1)
		r.Stop()
		if _, err := c.Read(make([]byte, 1)); err == nil {
			t.Errorf("%s: the connection survived Stop", network)
		}
		if _, err := net.Dial(network, address); err == nil {
			t.Errorf("%s: dialled a stopped receiver", network)
		}
		if err := r.Start(); err != nil {
			t.Fatal(err)
		}
		send(t, dial(t, r), packed(unhex(t, entry)))
		r.Wait(t, 1)
		if r.Address() != address {
			t.Errorf("%s: address %s is now %s", network, address, r.Address())
		}
	}
}

func TestCounts(t *testing.T) {
	r := New(t, Options{Count: true})
	c := dial(t, r)
	send(t, c, packed(unhex(t, entry+entryNano)))
	send(t, c, unhex(t, "93 a1 75 ce 65 53 f1 00 81 a1 61 01"))
	r.Wait(t, 3)
	if got := r.Counts(); got["t"] != 2 || got["u"] != 1 || len(r.Events()) != 0 {
		t.Errorf("counts %v, %d events kept", got, len(r.Events()))
	}
}

func TestHeartbeatByUDP(t *testing.T) {
	r := New(t, Options{UDP: true})
	c, err := net.Dial("udp", r.Address())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	send(t, c, []byte{0})
	expect(t, c, []byte{0})
}

func dial(t *testing.T, r *Receiver) net.Conn {
	t.Helper()
	c, err := net.Dial(r.opt.Network, r.Address())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func send(t *testing.T, c io.Writer, b []byte) {
	t.Helper()
	if _, err := c.Write(b); err != nil {
		t.Fatal(err)
	}
}

// expect reads exactly want.
func expect(t *testing.T, c io.Reader, want []byte) {
	t.Helper()
	got := make([]byte, len(want))
	if n, err := io.ReadFull(c, got); err != nil || !bytes.Equal(got, want) {
		t.Fatalf("read %x (%v); want %x", got[:n], err, want)
	}
}
