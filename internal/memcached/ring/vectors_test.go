package ring

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"
	"strconv"
	"strings"
	"testing"
)

// paragraphs reads the stanzas of a file in testdata, each as its lines,
// without comments.
func paragraphs(t testing.TB, name string) [][]string {
	t.Helper()
	f, err := os.Open("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all [][]string
	var stanza []string
	flush := func() {
		if len(stanza) > 0 {
			all = append(all, stanza)
		}
		stanza = nil
	}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		switch line := lines.Text(); {
		case line == "":
			flush()
		case !strings.HasPrefix(line, "#"):
			stanza = append(stanza, line)
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	flush()
	return all
}

// keys returns the keys of all vectors, in order.
func keys(t testing.TB) [][]byte {
	t.Helper()
	text, err := os.ReadFile("testdata/keys.txt")
	if err != nil {
		t.Fatal(err)
	}
	var keys [][]byte
	for line := range strings.Lines(string(text)) {
		keys = append(keys, []byte(strings.TrimSuffix(line, "\n")))
	}
	return keys
}

// setup is a stanza of clients.txt or rings.txt.
type setup struct {
	name   string
	config Config
	fields map[string]string // lines that begin with a word
	assign string            // the line without a space: the server of each key
}

func setups(t testing.TB, name string) []setup {
	t.Helper()
	var all []setup
	for _, stanza := range paragraphs(t, name) {
		s := setup{name: stanza[0], fields: map[string]string{}}
		for _, line := range stanza[1:] {
			if word, rest, found := strings.Cut(line, " "); found {
				s.fields[word] = rest
			} else {
				s.assign = line
			}
		}
		var err error
		if s.config, err = parseConfig(s.fields["distribution"], s.fields["servers"]); err != nil {
			t.Fatalf("%s: %v", s.name, err)
		}
		all = append(all, s)
	}
	return all
}

// parseConfig reads "name parameter=value ..." and "label*weight ...".
func parseConfig(distribution, servers string) (Config, error) {
	words := strings.Fields(distribution)
	c := Config{Name: words[0]}
	for _, word := range words[1:] {
		name, value, _ := strings.Cut(word, "=")
		var err error
		switch name {
		case "points":
			c.Points, err = strconv.Atoi(value)
		case "hash":
			c.Hash = value
		case "point_hash":
			c.PointHash = value
		case "hash_tag":
			c.HashTag = value
		case "namespace":
			c.Namespace = value
		case "hash_namespace":
			var hashed bool
			hashed, err = strconv.ParseBool(value)
			c.HashNamespace = &hashed
		case "key_escape":
			c.KeyEscape = value
		case "rehash":
			c.Rehash, err = strconv.ParseBool(value)
		default:
			err = fmt.Errorf("unknown parameter %s", name)
		}
		if err != nil {
			return c, err
		}
	}
	for _, word := range strings.Fields(servers) {
		label, weight, _ := strings.Cut(word, "*")
		w, err := strconv.ParseFloat(weight, 64)
		if err != nil {
			return c, err
		}
		c.Servers = append(c.Servers, Server{label, w})
	}
	return c, nil
}

func newRing(t testing.TB, c Config) *Ring {
	t.Helper()
	r, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestClients compares the server of every key in every set-up with the choice of the real
// client.
func TestClients(t *testing.T) {
	keys := keys(t)
	if len(keys) != 2014 {
		t.Fatalf("%d keys, want 2014", len(keys))
	}
	checked := 0
	for _, s := range setups(t, "clients.txt") {
		t.Run(s.name, func(t *testing.T) {
			checked += s.check(t, keys)
		})
	}
	if checked != 201939 {
		t.Errorf("%d assignments were checked, want 201939", checked)
	}
}

// check compares the servers of all keys of s, and returns the number of keys that have one.
func (s *setup) check(t *testing.T, keys [][]byte) (checked int) {
	r := newRing(t, s.config)
	if len(s.assign) != len(keys) {
		t.Fatalf("%d assignments, want %d", len(s.assign), len(keys))
	}
	wrong := 0
	for i, key := range keys {
		want := strings.IndexByte("0123456789abcdefghijklmnopqrstuvwxyz", s.assign[i])
		if want >= 0 {
			checked++
		}
		if got, ok := s.finds(r, key, want); !ok {
			if wrong++; wrong <= 3 {
				t.Errorf("%q: got server %d, want %d", key, got, want)
			}
		}
	}
	if wrong > 0 {
		t.Errorf("%d keys are on other servers", wrong)
	}
	return checked
}

// finds reports whether r finds key on server want, which is -1 if the client stored
// nothing.
func (s *setup) finds(r *Ring, key []byte, want int) (got int, ok bool) {
	down, failed := s.fields["down"]
	if failed {
		got = r.FindUp(key, func(server int) bool { return strconv.Itoa(server) != down })
		return got, got == want
	}
	if want < 0 {
		return 0, true // the client refuses the key
	}
	if got = r.Find(key); got != want {
		return got, false
	}
	got = r.Explain(key).Server
	return got, got == want
}

// TestHashes compares hashes with those of clients.
func TestHashes(t *testing.T) {
	lines := paragraphs(t, "hashes.txt")[0]
	if len(lines) != 88 {
		t.Fatalf("%d lines, want 88", len(lines))
	}
	for _, line := range lines {
		words := strings.SplitN(line, " ", 3)
		key, err := strconv.Unquote(words[2])
		if err != nil {
			t.Fatal(err)
		}
		h, err := hashByName(twemproxyHashes, words[0], "hash", FieldHash)
		if err != nil {
			t.Fatal(err)
		}
		if got := strconv.FormatUint(uint64(h.sum([]byte(key))), 10); got != words[1] {
			t.Errorf("%s of %q: got %s, want %s", words[0], key, got, words[1])
		}
	}
}

// TestRings compares the points of rings with those of clients.
func TestRings(t *testing.T) {
	all := setups(t, "rings.txt")
	if len(all) != 11 {
		t.Fatalf("%d rings, want 11", len(all))
	}
	for _, s := range all {
		t.Run(s.name, func(t *testing.T) {
			points := newRing(t, s.config).continuum.points
			var bytes []byte
			for _, p := range points {
				bytes = append(binary.LittleEndian.AppendUint32(bytes, p.value), byte(p.server))
			}
			f := func(name, got string) {
				t.Helper()
				if got != s.fields[name] {
					t.Errorf("%s: got %s, want %s", name, got, s.fields[name])
				}
			}
			f("points", fmt.Sprintf("%d crc32 %d", len(points), crc32.ChecksumIEEE(bytes)))
			f("lowest", list(points[:6]))
			f("highest", list(points[len(points)-1:]))
		})
	}
}

func list(points []point) string {
	var words []string
	for _, p := range points {
		words = append(words, fmt.Sprintf("%d:%d", p.value, p.server))
	}
	return strings.Join(words, " ")
}
