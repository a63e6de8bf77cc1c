package msgpack

import (
	"bytes"
	"encoding/hex"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/tinylib/msgp/msgp"
	"pgregory.net/rapid"

	"github.com/kasoku/kasoku/fluent/internal/race"
)

// unhex reads bytes written as "93 a1 74".
func unhex(s string) []byte {
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		panic(err)
	}
	return b
}

func TestMessages(t *testing.T) {
	f := func(got []byte, want string) {
		t.Helper()
		if !bytes.Equal(got, unhex(want)) {
			t.Fatalf("got  % x\nwant %s", got, want)
		}
	}
	const sec = 1700000000
	record := AppendInt(AppendString(AppendMapLen(nil, 1), "a"), 1)

	b := AppendUint(AppendString(AppendArrayLen(nil, 3), "t"), sec)
	f(append(b, record...), "93 a1 74 ce 65 53 f1 00 81 a1 61 01")

	b = AppendEventTime(AppendString(AppendArrayLen(nil, 4), "t"), time.Unix(sec, 5))
	b = AppendMapLen(append(b, record...), 0)
	f(b, "94 a1 74 d7 00 65 53 f1 00 00 00 00 05 81 a1 61 01 80")

	entry := append(AppendUint(AppendArrayLen(nil, 2), sec), record...)
	b = AppendArrayLen(AppendString(AppendArrayLen(nil, 2), "t"), 1)
	f(append(b, entry...), "92 a1 74 91 92 ce 65 53 f1 00 81 a1 61 01")

	b = AppendBytes(AppendString(AppendArrayLen(nil, 3), "t"), entry)
	b = AppendInt(AppendString(AppendMapLen(b, 1), "size"), 1)
	f(b, "93 a1 74 c4 0a 92 ce 65 53 f1 00 81 a1 61 01 81 a4 73 69 7a 65 01")

	f(AppendString(AppendString(AppendMapLen(nil, 1), "ack"), "AA=="), "81 a3 61 63 6b a4 41 41 3d 3d")
	f(AppendBool(AppendBool(AppendNil(nil), false), true), "c0 c2 c3")
}

func TestEventTimeBounds(t *testing.T) {
	f := func(at time.Time, want string) {
		t.Helper()
		if got := AppendEventTime(nil, at); !bytes.Equal(got, unhex(want)) || len(got) != 10 {
			t.Fatalf("%v: got % x, want %s", at, got, want)
		}
	}
	f(time.Unix(0, 0), "d7 00 00000000 00000000")
	f(time.Unix(-1, 5), "d7 00 00000000 00000000")
	f(time.Time{}, "d7 00 00000000 00000000")
	f(time.Unix(1<<31, 999_999_999), "d7 00 80000000 3b9ac9ff")
	f(time.Unix(1<<32-1, 7), "d7 00 ffffffff 00000007")
	f(time.Unix(1<<32, 0), "d7 00 ffffffff 3b9ac9ff")
}

// edges are numbers around the bounds of the forms.
var edges = []int64{0, 1, 31, 32, 33, 127, 128, 255, 256, 32767, 32768, 65535, 65536,
	math.MaxInt32, math.MaxInt32 + 1, math.MaxUint32, math.MaxUint32 + 1, math.MaxInt64,
	-1, -31, -32, -33, -127, -128, -129, -32768, -32769, math.MinInt32, math.MinInt32 - 1, math.MinInt64}

// TestSmallestForms compares with msgp, which always picks the shortest form.
func TestSmallestForms(t *testing.T) {
	f := func(what any, got, want []byte) {
		t.Helper()
		if !bytes.Equal(got, want) {
			t.Fatalf("%v: got % x, want % x", what, got[:min(len(got), 12)], want[:min(len(want), 12)])
		}
	}
	for _, n := range edges {
		if n >= 0 {
			f(n, AppendUint(nil, uint64(n)), msgp.AppendUint64(nil, uint64(n)))
			f(n, AppendInt(nil, n), msgp.AppendUint64(nil, uint64(n)))
		} else {
			f(n, AppendInt(nil, n), msgp.AppendInt64(nil, n))
		}
	}
	f("max", AppendUint(nil, math.MaxUint64), msgp.AppendUint64(nil, math.MaxUint64))
	for _, n := range []int{0, 1, 15, 16, 31, 32, 255, 256, 65535, 65536, 70000} {
		s := strings.Repeat("x", n)
		f(n, AppendString(nil, s), msgp.AppendString(nil, s))
		f(n, AppendBytes(nil, []byte(s)), msgp.AppendBytes(nil, []byte(s)))
		f(n, AppendArrayLen(nil, n), msgp.AppendArrayHeader(nil, uint32(n)))
		f(n, AppendMapLen(nil, n), msgp.AppendMapHeader(nil, uint32(n)))
	}
	for _, v := range []float64{0, math.Copysign(0, -1), 1.5, math.Inf(1), math.MaxFloat64, math.SmallestNonzeroFloat64} {
		f(v, AppendFloat64(nil, v), msgp.AppendFloat64(nil, v))
		f(v, AppendFloat32(nil, float32(v)), msgp.AppendFloat32(nil, float32(v)))
	}
}

func TestAppendKeepsPrefix(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		prefix := rapid.SliceOf(rapid.Byte()).Draw(r, "prefix")
		s, i := rapid.String().Draw(r, "s"), rapid.Int64().Draw(r, "i")
		b := AppendInt(AppendString(bytes.Clone(prefix), s), i)
		rest, ok := bytes.CutPrefix(b, prefix)
		if !ok {
			r.Fatal("the prefix is gone")
		}
		gotS, rest, err := msgp.ReadStringBytes(rest)
		if err != nil || gotS != s {
			r.Fatalf("string %q, %v", gotS, err)
		}
		gotI, rest, err := msgp.ReadInt64Bytes(rest)
		if err != nil || gotI != i || len(rest) != 0 {
			r.Fatalf("integer %d, %v, %d bytes more", gotI, err, len(rest))
		}
	})
}

func TestAppendAllocs(t *testing.T) {
	if race.Enabled {
		return // the detector allocates
	}
	dst, now := make([]byte, 0, 256), time.Now()
	text, data := strings.Repeat("x", 40), make([]byte, 40)
	if n := testing.AllocsPerRun(100, func() {
		b := AppendMapLen(dst[:0], 3)
		b = AppendInt(AppendString(b, text), -70000)
		b = AppendBytes(AppendUint(b, 1<<40), data)
		b = AppendFloat64(AppendEventTime(b, now), 1.5)
		if r := NewReader(b); r.Skip() != nil {
			t.Error("can't skip")
		}
	}); n != 0 {
		t.Fatalf("%v allocations", n)
	}
}
