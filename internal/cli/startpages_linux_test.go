package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestUnchanged(t *testing.T) {
	const smaps = `55550000-55551000 r--p 00000000 fe:00 10036541                   /usr/bin/kasoku
Rss:                   4 kB
Anonymous:             0 kB
VmFlags: rd mr mw me
55551000-55553000 r-xp 00001000 fe:00 10036541                   /usr/bin/kasoku
Rss:                   8 kB
Anonymous:             0 kB
55553000-55554000 r--p 00003000 fe:00 10036541                   /usr/bin/kasoku
Rss:                   4 kB
Anonymous:             4 kB
55554000-55555000 rw-p 00004000 fe:00 10036541                   /usr/bin/kasoku
Anonymous:             0 kB
7f000000-7f001000 r-xp 00000000 fe:00 77                         /usr/lib/libc.so.6
Anonymous:             0 kB
7f002000-7f003000 r--p 00000000 00:00 0
Anonymous:             0 kB
7f004000-7f005000 r--p 00000000 fe:00 78                         /opt/my tools/kasoku (deleted)
Anonymous:             0 kB
`
	for file, want := range map[string][]mapping{
		"/usr/bin/kasoku":                {{0x55550000, 0x55551000}, {0x55551000, 0x55553000}},
		"/opt/my tools/kasoku (deleted)": {{0x7f004000, 0x7f005000}},
		"/usr/bin/other":                 nil,
	} {
		if got := unchanged([]byte(smaps), file); !slices.Equal(got, want) {
			t.Errorf("of %s: got %x; want %x", file, got, want)
		}
	}
}

// TestReleaseFile maps a file, uses it, and checks that then none of it is in this process's memory
// until it is used again.
func TestReleaseFile(t *testing.T) {
	const size = 1 << 20
	name := filepath.Join(t.TempDir(), "file")
	content := bytes.Repeat([]byte("kasoku\n\n"), size/8)
	if err := os.WriteFile(name, content, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	mapped, err := unix.Mmap(int(f.Fd()), 0, size, unix.PROT_READ, unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := unix.Munmap(mapped); err != nil {
			t.Error(err)
		}
	}()
	if !bytes.Equal(mapped, content) {
		t.Error("the mapping differs from the file")
	}
	if got := resident(t, name); got != size {
		t.Errorf("%d bytes are in memory after they have been read; want %d", got, size)
	}
	if err := releaseFile(name); err != nil {
		t.Fatal(err)
	}
	if got := resident(t, name); got != 0 {
		t.Errorf("%d bytes are in memory after they have been released; want none", got)
	}
	if !bytes.Equal(mapped, content) {
		t.Error("the mapping differs from the file after it has been released")
	}
}

func smapsText(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// resident returns how many bytes of a file are mapped to this process's memory.
func resident(t *testing.T, name string) (sum int) {
	t.Helper()
	_, rest, found := strings.Cut(smapsText(t), name+"\n")
	if !found {
		t.Fatalf("%s is not mapped", name)
	}
	for found {
		_, rest, _ = strings.Cut(rest, "\nRss:")
		line, _, _ := strings.Cut(rest, "\n")
		size, err := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(line), " kB"))
		if err != nil {
			t.Fatalf("no size of %s: %v", name, err)
		}
		sum += size << 10
		_, rest, found = strings.Cut(rest, name+"\n")
	}
	return sum
}

// TestReleaseStartPages checks that less of the executable is in memory, and that the process
// continues to run.
func TestReleaseStartPages(t *testing.T) {
	executable, err := os.Readlink("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range unchanged([]byte(smapsText(t)), executable) {
		if err := m.advise(unix.MADV_POPULATE_READ); err != nil {
			t.Fatal(err)
		}
	}
	before := resident(t, executable)
	if err := releaseStartPages(); err != nil {
		t.Fatal(err)
	}
	if after := resident(t, executable); after >= before {
		t.Errorf("%d bytes of the executable are in memory, of %d before", after, before)
	}
	if code, out, errs := command(t, []string{"version"}); code != codeOK || !strings.HasPrefix(out, "kasoku ") {
		t.Errorf("kasoku version printed %q and %q, with code %d", out, errs, code)
	}
}
