package embedded

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/kasoku/kasoku/internal/testutil/race"
)

// envDamages is the number of damages that TestDamagedFiles tries, with a new seed. Without it
// the test tries defaultDamages, the same in every run.
const envDamages = "KASOKU_DAMAGES"

const defaultDamages = 300

// contents are the files of a directory by name.
type contents map[string][]byte

func readContents(t testing.TB, fs vfs.FS, dir string) contents {
	t.Helper()
	files := contents{}
	names, err := fs.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		f, err := fs.Open(fs.PathJoin(dir, name))
		if errors.Is(err, os.ErrNotExist) {
			continue // an open store has removed it
		}
		if err != nil {
			t.Fatal(err)
		}
		if files[name], err = io.ReadAll(f); err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	delete(files, "BALLAST") // which only reserves space
	return files
}

// readKilled reads the directory of an open store as if the process were killed now: it reads
// until two reads return the same.
func readKilled(t testing.TB, fs vfs.FS, dir string) contents {
	t.Helper()
	files := readContents(t, fs, dir)
	for {
		again := readContents(t, fs, dir)
		if again.equal(files) {
			return files
		}
		files = again
	}
}

func (c contents) write(t testing.TB, fs vfs.FS, dir string) {
	t.Helper()
	for name, text := range c {
		f, err := fs.Create(fs.PathJoin(dir, name), vfs.WriteCategoryUnspecified)
		if err != nil {
			t.Fatal(err)
		}
		// With the race detector the file system changes the bytes passed to it.
		if _, err := f.Write(bytes.Clone(text)); err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
}

func (c contents) equal(other contents) bool {
	return maps.EqualFunc(c, other, bytes.Equal)
}

// damagedStore is a store's directory with the writes that were acknowledged in it.
type damagedStore struct {
	name  string
	files contents
	items string // the result of a Scan
}

const damagedTable = `{"TableName":"tab","KeySchema":[{"AttributeName":"pk","KeyType":"HASH"}],` +
	`"AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"}],"BillingMode":"PAY_PER_REQUEST"}`

// scanned returns the answers to a Scan of the table, which has all items in an order that
// depends on their keys. It returns an error if they can't be read.
func scanned(t testing.TB, s *Store) (string, error) {
	t.Helper()
	var replies strings.Builder
	start := ""
	for {
		status, reply := s.send(t, "Scan", `{"TableName":"tab"`+start+`}`)
		if status != 200 {
			return "", fmt.Errorf("%d %s", status, reply)
		}
		replies.WriteString(reply)
		_, last, more := strings.Cut(reply, `"LastEvaluatedKey":`)
		if !more {
			return replies.String(), nil
		}
		last, _, _ = strings.Cut(last, "}}")
		start = `,"ExclusiveStartKey":` + last + "}}"
	}
}

// itemsIn returns the number of items in the answers to a Scan.
func itemsIn(replies string) int {
	return strings.Count(replies, `"pk":{"S":`) - strings.Count(replies, `"LastEvaluatedKey"`)
}

// damagedStores returns stores in the states in which one can be opened: closed, killed after
// the first writes, and killed after many writes.
func damagedStores(t testing.TB) []damagedStore {
	t.Helper()
	const dir = "store"
	fs := vfs.NewMem()
	cfg := onDisk{Dir: dir, fs: fs}
	var stores []damagedStore
	found := func(name string, s *Store) {
		items, err := scanned(t, s)
		if err != nil {
			t.Fatal(err)
		}
		stores = append(stores, damagedStore{name, readKilled(t, fs, dir), items})
	}
	put := func(s *Store, from, to, size int) {
		for i := from; i < to; i++ {
			s.mustSend(t, "PutItem", fmt.Sprintf(`{"TableName":"tab","Item":{"pk":{"S":"k%d"},"v":{"S":"%s"}}}`, i, hexadecimal(uint64(i), size)))
		}
	}
	s := openStore(t, cfg)
	s.mustSend(t, "CreateTable", damagedTable)
	put(s, 0, 50, 20)
	found("killed at first", s)
	s.Close()
	s = openStore(t, cfg)
	put(s, 50, 60, 20)
	found("killed", s)
	items := stores[len(stores)-1].items
	s.Close()
	stores = append(stores, damagedStore{"closed", readContents(t, fs, dir), items})

	s = openStore(t, cfg)
	put(s, 60, 90, 40_000) // enough to start new logs and to recycle their files
	put(s, 90, 95, 20)
	found("killed after many writes", s)
	return stores
}

// hexadecimal returns text that can't be compressed to much less than half its size.
func hexadecimal(seed uint64, size int) string {
	random := make([]byte, size/2)
	rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8)}).Read(random)
	return fmt.Sprintf("%x", random)
}

// fileDamage changes one file.
type fileDamage struct{ kind, file, detail string }

func (d fileDamage) String() string { return d.kind + " " + d.file + " " + d.detail }

// damageOne damages one of the files, usually near its end.
func damageOne(random *rand.Rand, files contents) fileDamage {
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(files)), func(name string) bool { return name == "LOCK" })
	d := fileDamage{file: names[random.IntN(len(names))]}
	text := bytes.Clone(files[d.file])
	position := func() int {
		n := len(text)
		if random.IntN(2) == 0 {
			return max(0, n-1-random.IntN(min(n, 64)))
		}
		return random.IntN(n)
	}
	switch kind := random.IntN(4); {
	case kind == 0 || len(text) == 0:
		d.kind = "remove"
		delete(files, d.file)
		return d
	case kind == 1:
		at, bit := position(), random.IntN(8)
		d.kind, d.detail = "flip", fmt.Sprintf("bit %d of byte %d of %d", bit, at, len(text))
		text[at] ^= 1 << bit
	case kind == 2:
		at := position()
		end := min(len(text), at+1+random.IntN(600))
		d.kind, d.detail = "zero", fmt.Sprintf("bytes %d to %d of %d", at, end, len(text))
		clear(text[at:end])
	default:
		at := position()
		d.kind, d.detail = "truncate", fmt.Sprintf("to %d of %d bytes", at, len(text))
		text = text[:at]
	}
	files[d.file] = text
	return d
}

// TestDamagedFiles damages one file of a store's directory at a time. The store that is opened
// then either returns all acknowledged writes, or isn't opened, with a message that names the
// directory and a remedy, and the directory is unchanged.
func TestDamagedFiles(t *testing.T) {
	damages, seed := race.Part(defaultDamages), uint64(1)
	if text := os.Getenv(envDamages); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatalf("%s: %v", envDamages, err)
		}
		damages, seed = n, rand.Uint64()
	}
	random := rand.New(rand.NewPCG(seed, 1))
	stores := damagedStores(t)
	outcomes := map[string]int{}
	for i := range damages {
		found := stores[random.IntN(len(stores))]
		files := maps.Clone(found.files)
		damage := damageOne(random, files)
		outcome, err := openDamaged(t, found, files)
		if err != nil {
			t.Errorf("seed %d, damage %d, store %s, %s: %v", seed, i, found.name, damage, err)
		}
		file, _, _ := strings.Cut(damage.file, "-")
		outcomes[outcome+": "+damage.kind+" "+strings.TrimLeft(file, "0123456789")]++
	}
	for _, what := range slices.Sorted(maps.Keys(outcomes)) {
		t.Logf("%s: %d", what, outcomes[what])
	}
}

// openDamaged opens the files as a store. It returns an error unless all writes are present or
// the store refuses properly to open.
func openDamaged(t *testing.T, found damagedStore, files contents) (outcome string, err error) {
	const dir = "store"
	fs := vfs.NewMem()
	if err := fs.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	files.write(t, fs, dir)
	s, err := onDisk{Dir: dir, NoSync: true, fs: fs}.open(slog.New(slog.DiscardHandler), idle(time.Now))
	if err != nil {
		after := readContents(t, fs, dir)
		after["LOCK"], files["LOCK"] = nil, nil
		switch {
		case !after.equal(files):
			return "refused", fmt.Errorf("refused, but the directory was changed: %v", err)
		case !strings.Contains(err.Error(), dir) || !strings.Contains(err.Error(), "nothing in it was changed"):
			return "refused", fmt.Errorf("the message is incomplete: %v", err)
		}
		return "refused", nil
	}
	defer s.Close()
	items, err := scanned(t, s)
	if err != nil {
		return "opened", fmt.Errorf("opened, but reading fails: %v", err)
	}
	if items != found.items {
		return "opened", fmt.Errorf("opened with %d items of %d", itemsIn(items), itemsIn(found.items))
	}
	return "opened", nil
}

// TestFormerFormat opens stores of the previous format, which has no integrity record: one that
// was closed, and one whose process was killed. A damaged manifest is detected there too.
func TestFormerFormat(t *testing.T) {
	for _, name := range []string{"closed", "killed"} {
		t.Run(name, func(t *testing.T) {
			files := readContents(t, vfs.Default, filepath.Join("testdata/format1", name))
			dir := t.TempDir()
			files.write(t, vfs.Default, dir)
			for range 2 { // the first time converts it to the current format
				s := openStore(t, onDisk{Dir: dir, NoSync: true})
				if items, err := scanned(t, s); itemsIn(items) != 15 || err != nil {
					t.Errorf("got %d items, %v; want 15", itemsIn(items), err)
				}
				s.Close()
			}
			if after := readContents(t, vfs.Default, dir); string(after["FORMAT"]) != "kasoku embedded store, format 3\n" || after["INTEGRITY"] == nil {
				t.Errorf("FORMAT is %q", after["FORMAT"])
			}
			const manifest = "MANIFEST-000006"
			found := damagedStore{name: name}
			for at := range files[manifest] {
				damaged := maps.Clone(files)
				damaged[manifest] = bytes.Clone(files[manifest])
				damaged[manifest][at] ^= 1
				if outcome, err := openDamaged(t, found, damaged); outcome != "refused" || err != nil {
					t.Errorf("byte %d: %s, %v", at, outcome, err)
				}
			}
		})
	}
}
