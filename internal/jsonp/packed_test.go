package jsonp

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"
)

// pack returns a Packed of a body that is written in pieces.
func pack(t testing.TB, p *Packer, body string, piece int) *Packed {
	t.Helper()
	inPieces(body, piece, func(b []byte) {
		if _, err := p.Write(b); err != nil {
			t.Fatal(err)
		}
	})
	k, err := p.Pack()
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func packer(t testing.TB, f *Filter) *Packer {
	t.Helper()
	p, err := f.NewPacker()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// sent joins head, middle and tail. Head and tail are appended to buffers that are not empty.
func (k *Packed) sent(c *Call) string {
	head, tail := k.Call([]byte("1"), []byte("22"), c)
	return string(head[1:]) + string(k.Middle()) + string(tail[2:])
}

// inflate decompresses exactly one member, whose CRC and length have to be right.
func inflate(t *testing.T, packed string) string {
	t.Helper()
	in := strings.NewReader(packed)
	z, err := gzip.NewReader(in)
	if err != nil {
		t.Fatal(err)
	}
	z.Multistream(false)
	out, err := io.ReadAll(z)
	if err != nil {
		t.Fatalf("after %d bytes: %v", len(out), err)
	}
	if in.Len() != 0 {
		t.Fatalf("%d bytes follow the member", in.Len())
	}
	return string(out)
}

// checkPacked compares a packed body with the one sent without gzip.
func checkPacked(t *testing.T, f *Filter, p *Packer, body string, piece int) {
	t.Helper()
	k := pack(t, p, body, piece)
	b := scan(f, body, 0)
	for _, why := range []Reason{Wrapped, Enveloped} {
		if why == Enveloped && f.cfg.Mode == Legacy {
			continue // legacy has no envelopes
		}
		for _, name := range []string{"f", strings.Repeat("a.", 127) + "b"} {
			c := f.Call([]byte(name), why, 404)
			sent := k.sent(&c)
			if got, want := inflate(t, sent), string(c.Append(nil, []byte(body), &b)); got != want {
				t.Fatalf("%s: got %.200q, want %.200q", why, got, want)
			}
			if k.CallLength(&c) != int64(len(sent)) {
				t.Errorf("CallLength is %d, want %d", k.CallLength(&c), len(sent))
			}
		}
	}
}

// bodies returns bodies that are cleaned or compressed in different ways.
func bodies() []string {
	noise := make([]byte, 200_000) // can't be compressed: several stored blocks
	random := rand.New(rand.NewPCG(1, 2))
	for i := range noise {
		noise[i] = byte(random.Uint32())
	}
	return []string{
		"", "{}", "1\n", "\n", "\ufeff", "\ufeff{}\n", "[\"" + ls + "\"]", "\ufeff[" + ps + "]\r\n", strings.Repeat(" ", 70),
		strings.Repeat(`{"status":"success", "count":1000},`, 400), strings.Repeat("x", 1<<20), string(noise),
		strings.Repeat("ab", 40_000) + "\n", strings.Repeat(ls+"x", 20_000),
	}
}

// TestPacked uses one packer for many bodies, as a service does.
func TestPacked(t *testing.T) {
	for _, m := range []Mode{Dotted, Legacy} {
		f := with(t, m, nil)
		p := packer(t, f)
		for _, body := range bodies() {
			for _, piece := range []int{0, 1, 4096} {
				if piece != 1 || len(body) < 1000 {
					checkPacked(t, f, p, body, piece)
				}
			}
		}
	}
	f := with(t, Dotted, func(c *Config) { c.Guard, c.Newline, c.Prefix = true, true, strings.Repeat("/", 256) })
	checkPacked(t, f, packer(t, f), "{}", 0)
}

// A short call costs a few bytes beside the compressed body.
func TestPackedIsSmall(t *testing.T) {
	f := with(t, Dotted, nil)
	k := pack(t, packer(t, f), strings.Repeat(`{"a":1},`, 2000), 0)
	c := f.Call([]byte("f"), Wrapped, 200)
	if n := k.CallLength(&c); len(k.Middle()) > 200 || n > int64(len(k.Middle()))+40 {
		t.Errorf("%d bytes are sent for %d compressed ones, want at most 40 more", n, len(k.Middle()))
	}
	if k.Weight() < int64(len(k.Middle())) {
		t.Errorf("%d bytes weigh %d", len(k.Middle()), k.Weight())
	}
}

// The name changes the length only by its own length, even if the body contains it: a client
// can't find out from the length what the body contains.
func TestPackedLengthIsIndependentOfName(t *testing.T) {
	f := with(t, Dotted, nil)
	k := pack(t, packer(t, f), strings.Repeat("secretvalue", 100), 0)
	same, other := f.Call([]byte("secretvalue"), Wrapped, 200), f.Call([]byte("zzzzzzzzzzz"), Wrapped, 200)
	if k.CallLength(&same) != k.CallLength(&other) || len(k.sent(&same)) != len(k.sent(&other)) {
		t.Errorf("the lengths are %d and %d, want them equal", k.CallLength(&same), k.CallLength(&other))
	}
}

// TestPackedInZlib inflates the members with zlib, if Python is installed.
func TestPackedInZlib(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err == nil {
		err = exec.Command(python, "-c", "import zlib").Run()
	}
	if err != nil {
		t.Logf("without zlib: %v", err)
		return
	}
	const program = `import sys, zlib
read, write = sys.stdin.buffer, sys.stdout.buffer
while line := read.readline():
    d = zlib.decompressobj(wbits=31)
    out = d.decompress(read.read(int(line))) + d.flush()
    if not d.eof or d.unused_data: sys.exit("not one whole member")
    write.write(b"%d\n" % len(out) + out)`
	f := with(t, Dotted, nil)
	c := f.Call([]byte("angular.callbacks._0"), Wrapped, 200)
	p := packer(t, f)
	var in, want, stderr bytes.Buffer
	for _, body := range bodies() {
		k, b := pack(t, p, body, 0), scan(f, body, 0)
		fmt.Fprintf(&in, "%d\n%s", k.CallLength(&c), k.sent(&c))
		fmt.Fprintf(&want, "%d\n%s", c.Length(&b), c.Append(nil, []byte(body), &b))
	}
	cmd := exec.Command(python, "-c", program)
	cmd.Stdin, cmd.Stderr = &in, &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, &stderr)
	}
	if !bytes.Equal(out, want.Bytes()) {
		t.Errorf("zlib: got %d bytes, want %d", len(out), want.Len())
	}
}

// FuzzPacked packs and inflates arbitrary bodies.
func FuzzPacked(f *testing.F) {
	for i, body := range []string{"", "{}", "\ufeff[" + ls + "]\n", strings.Repeat("ab", 300), "\xe2\x80", "\n"} {
		f.Add(body, uint8(i))
	}
	dotted, legacy := with(f, Dotted, nil), with(f, Legacy, nil)
	p, q := packer(f, dotted), packer(f, legacy)
	f.Fuzz(func(t *testing.T, body string, piece uint8) {
		checkPacked(t, dotted, p, body, int(piece))
		checkPacked(t, legacy, q, body, int(piece))
	})
}

// FuzzCRC compares the CRC of a text with the combined CRCs of its two parts.
func FuzzCRC(f *testing.F) {
	f.Add([]byte(""), 0)
	f.Add([]byte("hello, world"), 5)
	f.Add(bytes.Repeat([]byte{0}, 1000), 1000)
	f.Fuzz(func(t *testing.T, b []byte, at int) {
		at = max(0, min(at, len(b)))
		first, second := crc32.ChecksumIEEE(b[:at]), crc32.ChecksumIEEE(b[at:])
		if got, want := multiply(shift(int64(len(b)-at)), first)^second, crc32.ChecksumIEEE(b); got != want {
			t.Errorf("got %08x, want %08x", got, want)
		}
	})
}

// TestShift checks shift for lengths of every magnitude.
func TestShift(t *testing.T) {
	for i := range 60 {
		n := int64(1)<<i + int64(i)
		if got, want := shift(2*n), multiply(shift(n), shift(n)); got != want {
			t.Errorf("shift(%d) is %08x, want %08x as twice the half", 2*n, got, want)
		}
		if got, want := shift(n+1), multiply(shift(n), shift(1)); got != want {
			t.Errorf("shift(%d) is %08x, want %08x as one byte more", n+1, got, want)
		}
	}
	zeros := make([]byte, 1<<16)
	if got, want := multiply(shift(int64(len(zeros))), 0xdeadbeef)^crc32.ChecksumIEEE(zeros), crc32.Update(0xdeadbeef, crc32.IEEETable, zeros); got != want {
		t.Errorf("got %08x, want %08x", got, want)
	}
}
