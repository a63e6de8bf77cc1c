package lists

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestTruncated opens files truncated at any byte: lists whose number was returned are present,
// and new ones can be written.
func TestTruncated(t *testing.T) {
	dir := t.TempDir()
	r := open(t, dir)
	number(t, r, "a", "b")
	path := filepath.Join(dir, fileName)
	one, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	number(t, r, "c")
	r.Close()
	two, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for n := range two {
		want := 0
		if n >= len(one) {
			want = 1
		}
		for _, rest := range []string{"", strings.Repeat("\x00", len(two)-n)} {
			content := string(two[:n]) + rest
			if n < len(header) && rest != "" {
				continue // less than the header counts as damage
			}
			if got, err := reopened(t, content); err != nil || got != want {
				t.Errorf("%d bytes and %d zeros: %d lists, %v", n, len(rest), got, err)
			}
		}
	}
}

// reopened opens a file with the given content, numbers a list and opens the file again. It
// returns the number of lists found at first.
func reopened(t *testing.T, content string) (int, error) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, fileName), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := Open(Config{Dir: dir, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return 0, err
	}
	n := r.Len()
	number(t, r, "new")
	r.Close()
	if again := open(t, dir); again.Len() != n+1 {
		t.Errorf("%d lists at first, %d after adding one", n, again.Len())
	}
	return n, nil
}

// written returns a file in which each of writes was written at once, and the offsets at which
// each write begins and the last one ends.
func written(t testing.TB, writes ...[]string) (content []byte, ends []int) {
	t.Helper()
	dir := t.TempDir()
	r := open(t, dir)
	ends = []int{len(header)}
	for _, together := range writes {
		var encoded [][]byte
		for _, name := range together {
			encoded = append(encoded, appendBody(nil, "", appendNames(nil, names(name))))
		}
		if err := r.file.write(encoded); err != nil {
			t.Fatal(err)
		}
		ends = append(ends, int(r.file.size))
	}
	b, err := os.ReadFile(filepath.Join(dir, fileName))
	if err != nil {
		t.Fatal(err)
	}
	return b, ends
}

// TestDamage inverts each bit of a file: before the last write that is an error; in the last
// write the remaining lists are lost, because damage can't be distinguished from a crash.
func TestDamage(t *testing.T) {
	b, ends := written(t, []string{"a", "b"}, []string{"c"}, []string{"d", "e", "f"})
	last := ends[2]
	before := map[int]int{} // number of lists by the offset of a write
	for i, at := range []int{0, (ends[3] - last) / 3, (ends[3] - last) / 3 * 2} {
		before[last+at] = 3 + i
	}
	want := 0
	for at := range b {
		if n, ok := before[at]; ok {
			want = n
		}
		for bit := range 8 {
			bad := slices.Clone(b)
			bad[at] ^= 1 << bit
			got, err := reopened(t, string(bad))
			switch {
			case at >= last && (err != nil || got != want):
				t.Errorf("bit %d of byte %d, in the last write: %d lists, %v", bit, at, got, err)
			case at < last && (err == nil || !strings.Contains(err.Error(), fileName)):
				t.Errorf("bit %d of byte %d: %d lists, %v", bit, at, got, err)
			case at >= len(header) && at < last && !strings.Contains(err.Error(), "byte "):
				t.Errorf("bit %d of byte %d: %v", bit, at, err)
			}
		}
	}
}

// TestIncompleteLastWrite opens files with only some parts of the last write on disk.
func TestIncompleteLastWrite(t *testing.T) {
	b, ends := written(t, []string{"a"}, []string{"b", strings.Repeat("c", 300), "d"})
	for from := ends[1]; from < ends[2]; from += 11 {
		for to := from + 1; to <= ends[2]; to += 17 {
			torn := slices.Clone(b)
			clear(torn[from:to])
			got, err := reopened(t, string(torn))
			first := ends[1] + recordHead + 3 // the second record of that write
			if err != nil || got < 1 || got > 4 || !bytes.Equal(torn[:first], b[:first]) && got != 1 {
				t.Fatalf("zeros from %d to %d: %d lists, %v", from, to, got, err)
			}
		}
	}
}

// A list's names may look like records.
func TestRecordInNames(t *testing.T) {
	fake := appendRecord(nil, []byte("\x00\x01x"), int64(len(header)+recordHead+3+recordHead+2), 0)
	b, ends := written(t, []string{"a"}, []string{string(fake)})
	if at := bytes.LastIndex(b, fake); at != len(header)+recordHead+3+recordHead+2 {
		t.Fatal(at)
	}
	b[ends[2]-1] ^= 1 // in the body; the head with the length is intact
	if got, err := reopened(t, string(b)); err != nil || got != 1 {
		t.Errorf("%d lists, %v", got, err)
	}
}

func TestOtherFiles(t *testing.T) {
	for _, content := range []string{"", header[:5], header[:5] + "\x00\x00", strings.Repeat("\x00", len(header))} {
		if n, err := reopened(t, content); err != nil || n != 0 {
			t.Errorf("%q: %d lists, %v", content, n, err)
		}
	}
	for _, content := range []string{"hello", header[1:], strings.Replace(header, "2", "3", 1), "hello, hello, hello, hello, hello", strings.Repeat("\x00", len(header)+1)} {
		if _, err := reopened(t, content); err == nil || !strings.Contains(err.Error(), "it is no file of attribute lists") {
			t.Errorf("%q: %v", content, err)
		}
	}
}

// TestVersionOne opens a file in which no list has an owner, as earlier versions wrote it, and
// adds a list.
func TestVersionOne(t *testing.T) {
	body := appendNames(nil, names("age", "name"))
	content := appendHeaded([]byte(headerOne), body, uint32(len(body)), int64(len(headerOne)), 0)
	dir := t.TempDir()
	path := filepath.Join(dir, fileName)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	by := Owner{Key: []byte("A"), Keys: 2}
	r := open(t, dir)
	id, err := r.ID(names("age", "name"), by)
	if err != nil || r.Len() != 1 {
		t.Fatalf("%d lists, %v", r.Len(), err)
	}
	if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, content) {
		t.Errorf("a file that was only read has changed: %q, %v", now, err)
	}
	if _, err := r.ID(names("new"), by); err != nil {
		t.Fatal(err)
	}
	r.Close()
	r = open(t, dir)
	if r.Len() != 2 || number(t, r, "age", "name") != id || r.account("A").lists != 1 {
		t.Errorf("%d lists, of which A has %d", r.Len(), r.account("A").lists)
	}
	for _, torn := range []string{headerOne[:5], headerOne[:len(headerOne)-1], headerOne[:5] + "\x00"} {
		if n, err := reopened(t, torn); err != nil || n != 0 {
			t.Errorf("%q: %d lists, %v", torn, n, err)
		}
	}
}

func TestPermissions(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	open(t, dir)
	for path, want := range map[string]os.FileMode{dir: 0o700, filepath.Join(dir, fileName): 0o600} {
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
}

func FuzzFile(f *testing.F) {
	f.Add([]byte(header))
	f.Add(append([]byte(header), appendRecord(appendRecord(nil, []byte("\x00\x01a"), int64(len(header)), 0), []byte("\x01K\x01b\x02cd"), int64(len(header)+recordHead+3), 0)...))
	f.Fuzz(func(t *testing.T, b []byte) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, fileName), b, 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := Open(Config{Dir: dir, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			return
		}
		defer r.Close()
		if _, err := r.ID(names("new"), Owner{}); err != nil {
			t.Fatal(err)
		}
	})
}

func BenchmarkOpen(b *testing.B) {
	dir := b.TempDir()
	r := open(b, dir)
	var encoded [][]byte
	for i := range defaultMax {
		encoded = append(encoded, appendBody(nil, "KEY", appendNames(nil, names("created", "name", fmt.Sprint("attribute ", i)))))
	}
	if err := r.file.write(encoded); err != nil {
		b.Fatal(err)
	}
	r.Close()
	b.ResetTimer()
	for range b.N {
		r, err := Open(Config{Dir: dir, Log: slog.New(slog.DiscardHandler)})
		if err != nil || r.Len() != defaultMax {
			b.Fatal(r.Len(), err)
		}
		r.Close()
	}
}
