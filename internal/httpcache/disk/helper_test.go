package disk_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/kasoku/kasoku/internal/httpcache/disk"
	"github.com/kasoku/kasoku/internal/testutil/memfs"
)

const dir = "cache"

// open opens a tier and its part "p". Keys of evicted bodies are appended to evicted.
func open(t testing.TB, fs disk.FS, o disk.Options) (part *disk.Part, found []disk.Found, evicted *[]string, close func()) {
	t.Helper()
	if o.Size == 0 {
		o.Size = 1 << 30
	}
	o.FS = fs
	tier, err := disk.Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	evicted = new([]string)
	part, found, err = tier.Part("p", func(f *disk.File) { *evicted = append(*evicted, string(f.Key())) })
	if err != nil {
		t.Fatal(err)
	}
	return part, found, evicted, func() {
		part.Close()
		if err := tier.Close(); err != nil {
			t.Error(err)
		}
	}
}

// write writes a body up to Finish.
func write(part *disk.Part, body string) (*disk.File, error) {
	w, err := part.Create(int64(len(body)))
	if err != nil {
		return nil, err
	}
	defer w.Close()
	defer w.Discard()
	for len(body) > 0 {
		n := min(100_000, len(body))
		if _, err := w.Write([]byte(body[:n])); err != nil {
			return nil, err
		}
		body = body[n:]
	}
	return w.Finish(100)
}

// put commits a body under key, with "about " and the key as its meta.
func put(t testing.TB, part *disk.Part, key, body string) *disk.File {
	t.Helper()
	f, err := write(part, body)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Commit([]byte(key), []byte("about "+key), false); err != nil {
		t.Fatal(err)
	}
	return f
}

// read reads n bytes of a body from offset from on.
func read(f *disk.File, from, n int64) (string, error) {
	r, err := f.Open()
	if err != nil {
		return "", err
	}
	defer r.Close()
	var b bytes.Buffer
	err = r.WriteRange(&b, from, n)
	return b.String(), err
}

// long returns a body of n bytes in which each byte differs from its neighbours.
func long(n int) string {
	var b strings.Builder
	for i := 0; b.Len() < n; i++ {
		b.WriteByte(byte(i>>8 ^ i*7))
	}
	return b.String()
}

// named returns the files that have that ending.
func named(fs *memfs.FS, ending string) (names []string) {
	for _, n := range fs.Files() {
		if strings.HasSuffix(n, ending) {
			names = append(names, n)
		}
	}
	return names
}
