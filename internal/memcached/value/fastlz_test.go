package value

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"
)

// block writes a block of FastLZ and its decoded form.
type block struct {
	level   int
	in, out []byte
}

func (b *block) literals(text []byte) {
	op := byte(len(text) - 1)
	if len(b.in) == 0 {
		op |= byte(b.level-1) << 5
	}
	b.in = append(append(b.in, op), text...)
	b.out = append(b.out, text...)
}

func (b *block) copy(length, distance int) {
	far := b.level == 2 && distance > maxNear
	high := (distance - 1) >> 8
	if far {
		high = 31
	}
	n := length - 2
	b.in = append(b.in, byte(min(n, 7))<<5|byte(high))
	for rest := n - 7; rest >= 0; rest -= 255 {
		b.in = append(b.in, byte(min(rest, 255)))
		if rest < 255 || b.level == 1 {
			break
		}
	}
	if far {
		b.in = append(b.in, 255, byte((distance-maxNear-1)>>8), byte(distance-maxNear-1))
	} else {
		b.in = append(b.in, byte(distance-1))
	}
	for range length {
		b.out = append(b.out, b.out[len(b.out)-distance])
	}
}

// draw adds a random instruction.
func (b *block) draw(t *rapid.T) {
	if len(b.out) == 0 || rapid.Bool().Draw(t, "literals") {
		b.literals(rapid.SliceOfN(rapid.Byte(), 1, 32).Draw(t, "text"))
		return
	}
	longest, farthest := 264, 8192
	if b.level == 2 {
		longest, farthest = 20_000, 65535+8192
	}
	length := rapid.IntRange(3, longest).Draw(t, "length")
	b.copy(length, rapid.IntRange(1, min(len(b.out), farthest)).Draw(t, "distance"))
}

// The result of a block's instructions is appended to the buffer. A result of another length is
// an error.
func TestFastLZ(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := block{level: rapid.IntRange(1, 2).Draw(t, "level")}
		for range rapid.IntRange(1, 40).Draw(t, "instructions") {
			b.draw(t)
		}
		got, err := appendFastLZ([]byte("before"), b.in, len(b.out))
		if err != nil || !bytes.Equal(got, append([]byte("before"), b.out...)) {
			t.Fatalf("%d bytes were decoded to %d, %v; want %d", len(b.in), len(got), err, len(b.out))
		}
		for _, wrong := range []int{len(b.out) - 1, len(b.out) + 1} {
			if _, err := appendFastLZ(nil, b.in, wrong); err == nil {
				t.Fatalf("a block of %d bytes was accepted as one of %d", len(b.out), wrong)
			}
		}
	})
}

func TestFastLZRefused(t *testing.T) {
	f := func(in string, size int) {
		t.Helper()
		if got, err := appendFastLZ([]byte("before"), []byte(in), size); err == nil {
			t.Fatalf("%q was decoded to %q, want an error", in, got)
		}
	}
	f("", 0)
	f("\x00", 1)
	f("\x00a", 0)
	f("\x40a", 1)         // a third level
	f("\x00a\x20\x01", 4) // from before the beginning
	f("\x00a\x20", 4)     // no distance
	f("\x00a\xe0", 4)     // no length
	f("\x20a\xe0\xff\xff", 1000)
	f("\x20a\x3f\xff\x00", 4) // half of a far distance
	f("\x00a\x20\x00", 3)
}
