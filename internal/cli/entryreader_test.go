package cli

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func TestEntryReader(t *testing.T) {
	long := strings.Repeat("x", maxEntry)
	for _, c := range []struct{ list, want string }{
		{"", ""},
		{"a b\n\n # comment\n\tc\r\nd", "1 a b; 4 c; 5 d"},
		{"a\n" + long + "\n" + long + long + "\nb\n", "1 a; 2 longer; 3 longer; 4 b"},
		{long[1:] + "\n" + long, "1 " + long[1:] + "; 2 longer"},
		{"a\xff\nb", "1 not UTF-8; 2 b"},
	} {
		for _, in := range []io.Reader{strings.NewReader(c.list), iotest.OneByteReader(strings.NewReader(c.list))} {
			r := newEntryReader(in, "keys")
			var got []string
			for {
				e, err := r.next()
				if err == io.EOF {
					break
				}
				text := e.text
				if errors.Is(err, errBadEntry) {
					text = "longer"
					if strings.Contains(err.Error(), "UTF-8") {
						text = "not UTF-8"
					}
				} else if err != nil {
					t.Fatal(err)
				}
				got = append(got, strings.TrimPrefix(e.place, "keys:")+" "+text)
			}
			if text := strings.Join(got, "; "); text != c.want {
				t.Errorf("%.40q: got %.200q, want %.200q", c.list, text, c.want)
			}
			if r.read != int64(len(c.list)) {
				t.Errorf("%.40q: %d of %d bytes were read", c.list, r.read, len(c.list))
			}
		}
	}
	broken := iotest.TimeoutReader(iotest.OneByteReader(strings.NewReader("ab\n")))
	if _, err := newEntryReader(broken, "keys").next(); !errors.Is(err, iotest.ErrTimeout) {
		t.Errorf("got %v", err)
	}
}
