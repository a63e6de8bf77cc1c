package cli

import (
	"bytes"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestProgressBar(t *testing.T) {
	if got, want := barText(500, 0, 2*time.Second), "500 entries, 250/s"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := barText(500, 0.5, 2*time.Second), "[###############               ]  50% 500 entries, 250/s"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		b := &progressBar{out: &out, start: time.Now()}
		time.Sleep(time.Second)
		b.show(1000, 0)
		b.show(1001, 0) // too soon
		time.Sleep(time.Second)
		b.show(1800, 0)
		b.clear()
		b.clear()
		if got, want := out.String(), "\r1000 entries, 1000/s\r1800 entries, 900/s \r"+strings.Repeat(" ", 19)+"\r"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
	// It is shown on a terminal only.
	var all sync.WaitGroup
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	all.Go(func() {
		if text, err := io.ReadAll(r); len(text) > 0 || err != nil {
			t.Errorf("a pipe has got %q, %v", text, err)
		}
	})
	for _, out := range []io.Writer{w, io.Discard} {
		b := newProgressBar(&Environment{Stderr: out})
		b.show(1, 1)
		b.clear()
		if b.out != nil {
			t.Errorf("%T is a terminal", out)
		}
	}
	w.Close()
	all.Wait()
}
