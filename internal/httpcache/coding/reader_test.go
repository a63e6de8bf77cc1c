package coding

import (
	"io"
	"testing"
)

// zeros is an endless body.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// A small input allows a bounded expansion, a large input a proportional one.
func TestReaderIsBounded(t *testing.T) {
	f := func(input, length int64, want error) {
		t.Helper()
		r := &bounded{r: io.LimitReader(zeros{}, length), from: &counter{n: input}}
		if n, err := io.Copy(io.Discard, r); err != want || want == nil && n != length || n > max(free, ratio*input) {
			t.Errorf("%d bytes decoded from %d: read %d, %v; want the error %v", length, input, n, err, want)
		}
	}
	f(10, free, nil)
	f(10, free+1, ErrTooMuch)
	f(free/ratio, free+1, ErrTooMuch)
	f(free/ratio+1, free+1, nil)
	f(free/ratio+1, free+ratio+1, ErrTooMuch)
}
