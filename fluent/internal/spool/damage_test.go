package spool

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"pgregory.net/rapid"
)

// fill opens a spool on m and appends payloads of these sizes; each begins with
// its number, from 1, which also is its count of records.
func fill(t testing.TB, m *memFS, sizes ...int) *Spool {
	t.Helper()
	s, _, err := Open("/spool", Options{fs: m, Sync: SyncNever})
	if err != nil {
		t.Fatal(err)
	}
	for i, size := range sizes {
		if err := s.Append(numbered(i+1, size), i+1); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func numbered(number, size int) []byte {
	b := bytes.Repeat([]byte{byte(number)}, max(size, 4))
	binary.BigEndian.PutUint32(b, uint32(number))
	return b
}

// drain takes all payloads, checks them and returns their numbers.
func drain(t testing.TB, s *Spool, sizes ...int) (numbers []int) {
	t.Helper()
	for {
		id, payload, err := s.Next()
		if err == ErrEmpty {
			return numbers
		}
		if err != nil {
			t.Fatal(err)
		}
		n := int(binary.BigEndian.Uint32(payload))
		if n < 1 || n > len(sizes) || !bytes.Equal(payload, numbered(n, sizes[n-1])) {
			t.Fatalf("payload %d is not what was appended", n)
		}
		numbers = append(numbers, n)
		s.Done(id)
	}
}

// without returns 1 to n except the lost numbers.
func without(n int, lost ...int) (numbers []int) {
next:
	for i := 1; i <= n; i++ {
		for _, l := range lost {
			if l == i {
				continue next
			}
		}
		numbers = append(numbers, i)
	}
	return numbers
}

func equal(a, b []int) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

const segment1 = "/spool/0000000000000001.spool"

// TestDamage writes three payloads of 100 bytes (128 with headers), damages the
// file, and opens it again.
func TestDamage(t *testing.T) {
	f := func(name string, damage func(b []byte) []byte, want []int, rec Recovery) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			t.Helper()
			m := newMemFS()
			fill(t, m, 100, 100, 100)
			m = m.crash(false, nil)
			m.files[segment1].data = damage(m.files[segment1].data)
			s, got, err := Open("/spool", Options{fs: m, Report: func(err error) { t.Error(err) }})
			if err != nil {
				t.Fatal(err)
			}
			if got != rec {
				t.Errorf("recovery: %+v; want %+v", got, rec)
			}
			if p, r, b := s.Len(); p != rec.Payloads || r != rec.Records || b != rec.Bytes {
				t.Errorf("Len: %d, %d, %d", p, r, b)
			}
			if got := drain(t, s, 100, 100, 100); !equal(got, want) {
				t.Errorf("found %v; want %v", got, want)
			}
			if p, r, b := s.Len(); p != 0 || r != 0 || b != 0 {
				t.Errorf("Len at the end: %d, %d, %d", p, r, b)
			}
			if m.files[segment1] != nil {
				t.Error("the segment is still there")
			}
			if err := s.Append(numbered(1, 100), 1); err != nil {
				t.Error(err)
			}
			if got := drain(t, s, 100); !equal(got, []int{1}) {
				t.Errorf("found %v after a new append", got)
			}
		})
	}
	const first, second, third = segmentHeaderLen, segmentHeaderLen + 128, segmentHeaderLen + 256
	flip := func(at int) func([]byte) []byte {
		return func(b []byte) []byte { b[at] ^= 0x10; return b }
	}
	cut := func(at int) func([]byte) []byte { return func(b []byte) []byte { return b[:at] } }
	all := Recovery{Segments: 1, Payloads: 3, Records: 6, Bytes: 384}

	f("nothing", func(b []byte) []byte { return b }, without(3), all)
	f("segment's header", flip(3), without(3), all)
	f("payload", flip(second+50), without(3, 2), Recovery{Segments: 1, Payloads: 2, Records: 4, Bytes: 256,
		DamagedPayloads: 1, DamagedRecords: 2, DamagedBytes: 128})
	f("last payload", flip(third+50), without(3, 3), Recovery{Segments: 1, Payloads: 2, Records: 3, Bytes: 256,
		DamagedPayloads: 1, DamagedRecords: 3, DamagedBytes: 128})
	f("magic", flip(second), without(3, 2), Recovery{Segments: 1, Payloads: 2, Records: 4, Bytes: 256,
		DamagedPayloads: 1, DamagedRecords: 2, DamagedBytes: 128})
	f("length", flip(second+6), without(3, 2), Recovery{Segments: 1, Payloads: 2, Records: 4, Bytes: 256,
		DamagedPayloads: 1, DamagedRecords: 2, DamagedBytes: 128})
	f("first header: how many records it had is unknown", flip(first), without(3, 1), Recovery{
		Segments: 1, Payloads: 2, Records: 5, Bytes: 256, DamagedBytes: 128})
	f("hole", func(b []byte) []byte { clear(b[first+10 : second+10]); return b }, without(3, 1, 2), Recovery{
		Segments: 1, Payloads: 1, Records: 3, Bytes: 128, DamagedBytes: 256})
	f("hole behind the first header", func(b []byte) []byte { clear(b[first+60 : second+10]); return b }, without(3, 1, 2), Recovery{
		Segments: 1, Payloads: 1, Records: 3, Bytes: 128, DamagedPayloads: 2, DamagedRecords: 3, DamagedBytes: 256})
	f("bytes moved", func(b []byte) []byte { return append(b[:second:second], b[second+1:]...) }, without(3, 2, 3), Recovery{
		Segments: 1, Payloads: 1, Records: 1, Bytes: 128, TornBytes: 255})
	f("torn payload", cut(third+99), without(3, 3), Recovery{Segments: 1, Payloads: 2, Records: 3, Bytes: 256, TornBytes: 99})
	f("torn header", cut(third+5), without(3, 3), Recovery{Segments: 1, Payloads: 2, Records: 3, Bytes: 256, TornBytes: 5})
	f("zeros at the end", func(b []byte) []byte { return append(b, make([]byte, 5000)...) }, without(3), Recovery{
		Segments: 1, Payloads: 3, Records: 6, Bytes: 384, TornBytes: 5000})
	f("only a header", cut(first), nil, Recovery{})
	f("torn segment header", cut(7), nil, Recovery{TornBytes: 7})
	f("empty file", cut(0), nil, Recovery{})
	f("all zeros", func(b []byte) []byte { clear(b); return b }, nil, Recovery{TornBytes: 384})
	f("a length that no file has", func(b []byte) []byte {
		var c headerCodec
		copy(b[third:], c.encode(recordHeader{length: maxPayloadBytes, records: 3, index: 2, before: 3}, 1, third))
		return b
	}, without(3, 3), Recovery{Segments: 1, Payloads: 2, Records: 3, Bytes: 256, TornBytes: 128})
}

// TestDamagedEnd: a segment is done when its last valid record is, even if damaged ones
// follow that are never read.
func TestDamagedEnd(t *testing.T) {
	m := newMemFS()
	fill(t, m, 100, 100, 100)
	m = m.crash(false, nil)
	b := m.files[segment1].data
	b[len(b)-1] ^= 1
	s, rec, err := Open("/spool", Options{fs: m})
	if err != nil || rec.DamagedPayloads != 1 || rec.TornBytes != 0 {
		t.Fatalf("%+v, %v", rec, err)
	}
	for range rec.Payloads {
		id, _, err := s.Next()
		if err != nil {
			t.Fatal(err)
		}
		s.Done(id)
	}
	if m.files[segment1] != nil {
		t.Error("the segment is still there")
	}
}

// TestFlippedBit: a flipped bit anywhere costs at most the payload it is in.
func TestFlippedBit(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		sizes := rapid.SliceOfN(rapid.IntRange(4, 2000), 1, 40).Draw(rt, "sizes")
		m := newMemFS()
		fill(t, m, sizes...)
		m = m.crash(false, nil)
		b := m.files[segment1].data
		at := rapid.IntRange(0, len(b)-1).Draw(rt, "at")
		b[at] ^= 1 << rapid.IntRange(0, 7).Draw(rt, "bit")
		var lost []int
		for i, off := 0, segmentHeaderLen; i < len(sizes); i++ {
			end := off + recordHeaderLen + sizes[i]
			if at >= off && at < end {
				lost = append(lost, i+1)
			}
			off = end
		}
		s, rec, err := Open("/spool", Options{fs: m})
		if err != nil {
			rt.Fatal(err)
		}
		want := without(len(sizes), lost...)
		if got := drain(t, s, sizes...); !equal(got, want) {
			rt.Fatalf("flipped byte %d: found %v; want %v", at, got, want)
		}
		if len(lost) > 0 && rec.DamagedBytes+rec.TornBytes != int64(recordHeaderLen+sizes[lost[0]-1]) {
			rt.Fatalf("recovery: %+v", rec)
		}
	})
}

// TestPayloadThatLooksLikeRecords: when a header is damaged, the search meets copies of
// whole records in its payload. Their positions differ, so they are ignored.
func TestPayloadThatLooksLikeRecords(t *testing.T) {
	m := newMemFS()
	fill(t, m, 100, 100)
	inner := m.files[segment1].data
	m2 := newMemFS()
	s := fill(t, m2, 50)
	if err := s.Append(inner, 7); err != nil {
		t.Fatal(err)
	}
	if err := s.Append(numbered(3, 60), 3); err != nil {
		t.Fatal(err)
	}
	m2 = m2.crash(false, nil)
	m2.files[segment1].data[segmentHeaderLen+recordHeaderLen+50+4] ^= 1
	s, _, err := Open("/spool", Options{fs: m2})
	if err != nil {
		t.Fatal(err)
	}
	if got := drain(t, s, 50, 0, 60); !equal(got, []int{1, 3}) {
		t.Fatalf("found %v", got)
	}
}

// TestUnreadable: unreadable blocks lose their contents, when Next reaches them, and are
// reported.
func TestUnreadable(t *testing.T) {
	f := func(bad int64, want []int, lost LossError) {
		t.Helper()
		sizes := []int{5000, 5000, 5000, 5000}
		m := newMemFS()
		s := fill(t, m, sizes...)
		var reported []error
		s.opts.Report = func(err error) { reported = append(reported, err) }
		m.readErr = func(name string, off, end int64) error {
			if strings.HasSuffix(name, segmentSuffix) && off < bad+1 && bad < end {
				return syscall.EIO
			}
			return nil
		}
		if got := drain(t, s, sizes...); !equal(got, want) {
			t.Fatalf("found %v; want %v", got, want)
		}
		if len(reported) != 1 {
			t.Fatalf("reported: %v", reported)
		}
		l, ok := reported[0].(*LossError)
		if !ok || l.Payloads != lost.Payloads || l.Records != lost.Records || l.Bytes != lost.Bytes || !errors.Is(l, syscall.EIO) {
			t.Fatalf("reported: %v", reported[0])
		}
		if p, r, b := s.Lost(); p != l.Payloads || r != l.Records || b != l.Bytes {
			t.Fatalf("Lost: %d, %d, %d", p, r, b)
		}
		if p, r, b := s.Len(); p != 0 || r != 0 || b != 0 || m.files[segment1] != nil {
			t.Fatalf("Len: %d, %d, %d", p, r, b)
		}
	}
	const record = 5000 + recordHeaderLen
	f(segmentHeaderLen+record+2000, without(4, 2), LossError{Payloads: 1, Records: 2, Bytes: record})
	f(segmentHeaderLen+record+3, without(4, 2), LossError{Payloads: 1, Records: 2, Bytes: record})
	f(segmentHeaderLen+3*record+3, without(4, 4), LossError{Payloads: 1, Records: 4, Bytes: record})
}

// TestUnreadableAtOpen: data that Open could not read is not cut off, and is returned if it
// can be read later.
func TestUnreadableAtOpen(t *testing.T) {
	m := newMemFS()
	fill(t, m, 100, 100, 100)
	m = m.crash(false, nil)
	m.readErr = func(name string, off, end int64) error {
		if name == segment1 && end > segmentHeaderLen+128 {
			return syscall.EIO
		}
		return nil
	}
	s, rec, err := Open("/spool", Options{fs: m, Report: func(err error) { t.Error(err) }})
	if err != nil {
		t.Fatal(err)
	}
	if rec.Payloads != 1 || rec.DamagedBytes != 256 || rec.TornBytes != 0 {
		t.Fatalf("recovery: %+v", rec)
	}
	m.readErr = nil
	if got := drain(t, s, 100, 100, 100); !equal(got, without(3)) {
		t.Fatalf("found %v", got)
	}
	if p, r, b := s.Len(); p != 0 || r != 0 || b != 0 {
		t.Fatalf("Len: %d, %d, %d", p, r, b)
	}
}

// TestSegmentRemovedByAnother: a segment removed by another process is lost, and nothing
// else.
func TestSegmentRemovedByAnother(t *testing.T) {
	m := newMemFS()
	s, _, err := Open("/spool", Options{fs: m, MaxBytes: 64 << 10, Sync: SyncNever})
	if err != nil {
		t.Fatal(err)
	}
	sizes := []int{6000, 6000, 6000}
	for i, size := range sizes {
		if err := s.Append(numbered(i+1, size), 1); err != nil {
			t.Fatal(err)
		}
	}
	var reported []error
	s.opts.Report = func(err error) { reported = append(reported, err) }
	delete(m.files, "/spool/0000000000000002.spool")
	if got := drain(t, s, sizes...); !equal(got, without(3, 2)) {
		t.Fatalf("found %v", got)
	}
	if len(reported) != 1 {
		t.Fatalf("reported: %v", reported)
	}
}

func TestNewerFormat(t *testing.T) {
	f := func(name string, damage func(m *memFS)) {
		t.Helper()
		m := newMemFS()
		s := fill(t, m, 100)
		s.Next()
		s.Done(0)
		if err := s.Append(numbered(2, 10), 1); err != nil {
			t.Fatal(err)
		}
		m = m.crash(false, nil)
		damage(m)
		before := len(m.files)
		_, _, err := Open("/spool", Options{fs: m})
		var format *FormatError
		if !errors.As(err, &format) || format.Found != 2 || format.Known != 1 || filepath.Base(format.Path) != name {
			t.Fatalf("%s: %v", name, err)
		}
		if !strings.Contains(err.Error(), "version 2") || !strings.Contains(err.Error(), "up to 1") {
			t.Errorf("error: %v", err)
		}
		if len(m.files) != before || len(m.locked) != 0 {
			t.Errorf("files or the lock were touched")
		}
	}
	f("0000000000000002.spool", func(m *memFS) {
		b := m.files["/spool/0000000000000002.spool"].data
		b[8] = 2
		binary.LittleEndian.PutUint32(b[20:], crc32.Checksum(b[:20], castagnoli))
	})
	f(progressName, func(m *memFS) {
		for slot := range 2 {
			b := m.files["/spool/progress"].data[slot*slotLen:]
			b[4] = 2
			binary.LittleEndian.PutUint32(b[36:], crc32.Checksum(b[:36], castagnoli))
		}
	})
}

// TestDamagedProgress: progress that can't be read costs repetitions only.
func TestDamagedProgress(t *testing.T) {
	f := func(damage func(b []byte) []byte, want []int) {
		t.Helper()
		m := newMemFS()
		s := fill(t, m, 100, 100, 100)
		for range 2 {
			id, _, _ := s.Next()
			s.Done(id)
		}
		m = m.crash(false, nil)
		m.files["/spool/progress"].data = damage(m.files["/spool/progress"].data)
		s, _, err := Open("/spool", Options{fs: m})
		if err != nil {
			t.Fatal(err)
		}
		if got := drain(t, s, 100, 100, 100); !equal(got, want) {
			t.Fatalf("found %v; want %v", got, want)
		}
	}
	f(func(b []byte) []byte { return b }, []int{3})
	f(func(b []byte) []byte { b[20] ^= 1; return b }, []int{2, 3}) // the newer slot
	f(func(b []byte) []byte { b[slotLen+20] ^= 1; return b }, []int{3})
	f(func(b []byte) []byte { clear(b); return b }, []int{1, 2, 3})
	f(func(b []byte) []byte { return nil }, []int{1, 2, 3})
}

// FuzzSegment: for any contents of a file, the reader ends, returns only payloads with
// correct checksums, and accounts for every byte.
func FuzzSegment(f *testing.F) {
	m := newMemFS()
	fill(f, m, 5, 300, 0, 40)
	whole := m.files[segment1].data
	f.Add(whole)
	f.Add(whole[:len(whole)-3])
	f.Add([]byte{})
	f.Add(bytes.Repeat([]byte(recordMagic), 50))
	r := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		b := bytes.Clone(whole)
		b[r.IntN(len(b))] ^= byte(1 << r.IntN(8))
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) < segmentHeaderLen {
			return
		}
		r := newSegmentReader(bytes.NewReader(b), 1, segmentHeaderLen, int64(len(b)))
		var read int64
		for {
			off, h, payload, err := r.next(nil)
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(payload, b[off+recordHeaderLen:off+h.size()]) || crc32.Checksum(payload, castagnoli) != h.sum {
				t.Fatalf("payload at %d is damaged", off)
			}
			read += h.size()
		}
		if read+r.lost.bytes != int64(len(b))-segmentHeaderLen {
			t.Fatalf("%d bytes read and %d lost of %d", read, r.lost.bytes, len(b)-segmentHeaderLen)
		}
		m := newMemFS()
		m.files[segment1] = &memFile{data: bytes.Clone(b)}
		s, rec, err := Open("/spool", Options{fs: m})
		var format *FormatError
		if errors.As(err, &format) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for {
			id, _, err := s.Next()
			if err == ErrEmpty {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			s.Done(id)
			n++
		}
		if n != rec.Payloads {
			t.Fatalf("Open found %d payloads, Next returned %d", rec.Payloads, n)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	})
}
