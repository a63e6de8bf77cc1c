package ring

import (
	"bytes"
	"crypto/md5"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
	"testing"

	"github.com/kasoku/kasoku/internal/testutil/race"
)

// allConfigs returns a configuration of each distribution and hash, for three servers.
func allConfigs() []Config {
	var all []Config
	for _, name := range Names() {
		c := Config{Name: name}
		for i := range 3 {
			c.Servers = append(c.Servers, Server{fmt.Sprintf("10.0.0.%d:11212", i+1), 1})
		}
		if strings.HasPrefix(name, "cmf-") {
			c.Points = 150
		}
		all = append(all, c)
		for _, h := range Hashes(name) {
			c.Hash = h
			all = append(all, c)
		}
	}
	return all
}

func (c Config) test() string { return c.Name + "/" + c.Hash }

// TestAllDistributions compares Explain and FindUp with Find, and checks that each
// distribution uses all servers. With other hashes than the default, some clients do not.
func TestAllDistributions(t *testing.T) {
	keys := keys(t)
	for _, c := range allConfigs() {
		t.Run(c.test(), func(t *testing.T) {
			r := newRing(t, c)
			share := make([]int, r.Servers())
			for _, key := range keys {
				s := r.Find(key)
				share[s]++
				if p := r.Explain(key); p.Server != s {
					t.Fatalf("%q: Find returned %d, Explain %d", key, s, p.Server)
				}
				if up := r.FindUp(key, func(int) bool { return true }); up != s {
					t.Fatalf("%q: Find returned %d, FindUp with all servers up %d", key, s, up)
				}
			}
			if c.Hash == "" && slices.Min(share) < len(keys)/10 {
				t.Errorf("the servers have %v keys, want at least a tenth each", share)
			}
		})
	}
}

// TestOneServer checks that a single server has all keys.
func TestOneServer(t *testing.T) {
	for _, c := range allConfigs() {
		c.Servers = c.Servers[:1]
		r := newRing(t, c)
		for _, key := range []string{"", "a", "b%20c"} {
			if s, p := r.Find([]byte(key)), r.Explain([]byte(key)); s != 0 || p.Server != 0 {
				t.Errorf("%s: %q: Find returned %d, Explain %d, want 0", c.test(), key, s, p.Server)
			}
		}
	}
}

// TestFindAllocates checks that look-ups allocate nothing, also if the hashed text has to be
// built.
func TestFindAllocates(t *testing.T) {
	if race.Enabled {
		t.Log("allocations are counted without the race detector")
		return
	}
	key := []byte("user 12345::entry%20" + strings.Repeat("x", 200))
	for _, c := range allConfigs() {
		bare := newRing(t, c)
		c.Namespace, c.HashNamespace, c.KeyEscape = "testapp::", new(true), "nginx-upper"
		if strings.HasPrefix(c.Name, "twemproxy-") {
			c.HashTag = "{}"
		}
		for _, r := range []*Ring{bare, newRing(t, c)} {
			if n := testing.AllocsPerRun(100, func() { r.Find(key) }); n != 0 {
				t.Errorf("%s: Find allocates %v times", c.test(), n)
			}
			if n := testing.AllocsPerRun(100, func() { r.Explain(key) }); n != 0 {
				t.Errorf("%s: Explain allocates %v times", c.test(), n)
			}
		}
	}
}

// TestNeighbours checks hashes around a point: if the look-up searches upwards, a hash that
// equals a point belongs to it.
func TestNeighbours(t *testing.T) {
	c, err := newContinuum([]point{{30, 2}, {10, 0}, {20, 1}, {10, 3}})
	if err != nil {
		t.Fatal(err)
	}
	f := func(h uint32, up, down uint16) {
		t.Helper()
		if got := c.points[c.up(h)].server; got != up {
			t.Errorf("up from %d: got server %d, want %d", h, got, up)
		}
		if got := c.points[c.down(h)].server; got != down {
			t.Errorf("down from %d: got server %d, want %d", h, got, down)
		}
	}
	f(0, 0, 2)
	f(9, 0, 2)
	f(10, 0, 0) // the one listed first, of two with this value
	f(11, 1, 0)
	f(20, 1, 1)
	f(21, 2, 1)
	f(30, 2, 2)
	f(31, 0, 2)
	f(1<<32-1, 0, 2)
}

// TestTies checks points that several servers have, among many servers: the first server gets
// them, in spymemcached's ring the last one.
func TestTies(t *testing.T) {
	ketama, spy := Config{Name: "libmemcached-ketama"}, Config{Name: "spymemcached"}
	owners := map[uint32][]int{}
	for s := range 1000 {
		label := fmt.Sprintf("10.0.%d.%d:11212", s/250, s%250)
		ketama.Servers = append(ketama.Servers, Server{label, 1})
		spy.Servers = append(spy.Servers, Server{label, 1})
		for i := range 39 {
			digest := md5.Sum(fmt.Appendf(nil, "%s-%d", label, i))
			for at := 0; at < 16; at += 4 {
				value := binary.LittleEndian.Uint32(digest[at:])
				owners[value] = append(owners[value], s)
			}
		}
	}
	first, last := newRing(t, ketama), newRing(t, spy)
	ties := 0
	for value, servers := range owners {
		if len(servers) < 2 {
			continue
		}
		ties++
		if got := int(first.continuum.points[first.continuum.up(value)].server); got != servers[0] {
			t.Errorf("libmemcached: point %d of the servers %v: got %d, want the first", value, servers, got)
		}
		if got := int(last.continuum.points[last.continuum.up(value)].server); got != servers[len(servers)-1] {
			t.Errorf("spymemcached: point %d of the servers %v: got %d, want the last", value, servers, got)
		}
	}
	if ties == 0 {
		t.Error("no two servers have the same point")
	}
}

// TestCMFLegacy compares the ring of old versions with its definition: points are counted, not
// chained.
func TestCMFLegacy(t *testing.T) {
	r := newRing(t, Config{Name: "cmf-ketama-legacy", Points: 3, Servers: []Server{{"a:1", 1}, {"unix:/s", 0.5}}})
	var want []point
	f := func(server uint16, text string) { want = append(want, point{crc32.ChecksumIEEE([]byte(text)), server}) }
	f(0, "a\x001\x00\x00\x00\x00")
	f(0, "a\x001\x01\x00\x00\x00")
	f(0, "a\x001\x02\x00\x00\x00")
	f(1, "/s\x00\x00\x00\x00\x00")
	f(1, "/s\x00\x01\x00\x00\x00")
	slices.SortFunc(want, func(a, b point) int { return int(int64(a.value) - int64(b.value)) })
	if got := r.continuum.points; !slices.Equal(got, want) {
		t.Errorf("got the points %v, want %v", got, want)
	}
}

// TestSpyStyle checks the labels in libmemcached's imitation of spymemcached.
func TestSpyStyle(t *testing.T) {
	r := newRing(t, Config{Name: "libmemcached-ketama-spy", Hash: "md5", Servers: []Server{{"a", 1}, {"b:11211", 1}}})
	if got := len(r.continuum.points); got != 200 {
		t.Fatalf("%d points, want 200", got)
	}
	for s, text := range []string{"/a:11211-99", "/b:11211-0"} {
		digest := md5.Sum([]byte(text))
		value := binary.LittleEndian.Uint32(digest[:])
		if p := (point{value, uint16(s)}); !slices.Contains(r.continuum.points, p) {
			t.Errorf("%s has no point", text)
		}
	}
}

// TestRepetitions checks the rounding to single precision, also for weights for which exact
// arithmetic results in one more.
func TestRepetitions(t *testing.T) {
	f := func(weight, total float32, servers, want int) {
		t.Helper()
		if got := repetitions(weight, total, servers); got != want {
			t.Errorf("%v of %v, %d servers: got %d digests, want %d", weight, total, servers, got, want)
		}
	}
	for _, n := range []int{25, 47, 50, 55, 61, 71, 94, 100} {
		f(1, float32(n), n, 39)
	}
	for _, n := range []int{1, 2, 3, 4, 5, 24, 26} {
		f(1, float32(n), n, 40)
	}
	f(4, 25, 5, 31)
	f(1, 6, 3, 20)
	f(2, 6, 3, 40)
	f(3, 6, 3, 60)
}

// TestPECL compares each of the 1024 buckets with the underlying ring, which has many more
// points than buckets.
func TestPECL(t *testing.T) {
	c := Config{Name: "pecl-consistent"}
	var points []point
	for s := range 200 {
		label, text := fmt.Sprintf("10.0.0.%d:11211", s), ""
		if s == 7 {
			label, text = "unix:///tmp/s", ":0"
		}
		c.Servers = append(c.Servers, Server{label, 2})
		for i := range 320 {
			points = append(points, point{crc32.ChecksumIEEE(fmt.Appendf(nil, "%s%s-%d", label, text, i)), uint16(s)})
		}
	}
	r := newRing(t, c)
	if len(r.slots) != 1024 {
		t.Fatalf("%d buckets, want 1024", len(r.slots))
	}
	below := Ring{continuum: continuum{points: points}}
	for b, got := range r.slots {
		if want := linearSearch(&below, uint32(b)*4194303); int(got) != want {
			t.Errorf("bucket %d: got server %d, want %d", b, got, want)
		}
	}
}

// TestDalliShares checks that shares of points are rounded down.
func TestDalliShares(t *testing.T) {
	c, err := parseConfig("dalli", "a:1*3 b:1*1 c:1*4 d:1*1 e:1*5")
	if err != nil {
		t.Fatal(err)
	}
	got := make([]int, 5)
	for _, p := range newRing(t, c).continuum.points {
		got[p.server]++
	}
	if want := []int{171, 57, 228, 57, 285}; !slices.Equal(got, want) {
		t.Errorf("got the points %v, want %v", got, want)
	}
}

// TestSpymemcachedWeights checks that weights cause the rounding to single precision that is
// absent without them.
func TestSpymemcachedWeights(t *testing.T) {
	f := func(servers string, want ...int) {
		t.Helper()
		c, err := parseConfig("spymemcached", servers)
		if err != nil {
			t.Fatal(err)
		}
		got := make([]int, len(want))
		for _, p := range newRing(t, c).continuum.points {
			got[p.server]++
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: got the points %v, want %v", servers, got, want)
		}
	}
	f("1.0.0.1:1*1 1.0.0.2:1*1", 160, 160)
	f("1.0.0.1:1*1 1.0.0.2:1*3", 80, 240)
	f("1.0.0.1:1*4 1.0.0.2:1*8 1.0.0.3:1*5 1.0.0.4:1*1 1.0.0.5:1*7", 124, 252, 160, 28, 224)
}

// TestRendezvousTie checks the choice between two servers with the same score.
func TestRendezvousTie(t *testing.T) {
	for _, nodes := range [][]node{{{label: "a"}, {label: "b"}}, {{label: "b"}, {label: "a"}}} {
		r := Ring{method: rendezvous, servers: 2, nodes: nodes}
		if got := nodes[r.Find([]byte("k"))].label; got != "b" {
			t.Errorf("got server %s, want b", got)
		}
	}
}

// TestHashEnds checks hashes at the ends of their ranges.
func TestHashEnds(t *testing.T) {
	n := 0
	for middle(fnv1ax32.sum(fmt.Append(nil, n))) != 0 {
		n++
	}
	if got := fnvMiddleOrOne.sum(fmt.Append(nil, n)); got != 1 {
		t.Errorf("the middle of FNV-1a of %d is 0: got the hash %d, want 1", n, got)
	}
	if got := crc15OrOne.sum([]byte("edge::3586")); got != 1 {
		t.Errorf("a CRC of 0: got the hash %d, want 1", got)
	}
	long := []byte(strings.Repeat("k", 257))
	if a, b := crcHead.sum(long), crcHead.sum(long[:256]); a != b {
		t.Errorf("the hash depends on byte 257: %d and %d", a, b)
	}
	if crcHead.sum(long) == crcHead.sum(long[:255]) {
		t.Error("the hash does not depend on byte 256")
	}
}

// TestFractions checks fractional weights without points: buckets are whole.
func TestFractions(t *testing.T) {
	f := func(servers string, want ...uint16) {
		t.Helper()
		c, err := parseConfig("crc-buckets", servers)
		if err != nil {
			t.Fatal(err)
		}
		if got := newRing(t, c).slots; !slices.Equal(got, want) {
			t.Errorf("%s: got the buckets %v, want %v", servers, got, want)
		}
	}
	f("a*1 b*2", 0, 1, 1)
	f("a*2.5 b*1 c*0.5", 0, 0, 0, 1)
	f("a*0.3 b*0.3", 0)
	f("a*1.5 b*1.5", 0, 0, 1)
}

// TestText checks the text that is hashed for a key.
func TestText(t *testing.T) {
	f := func(parameters, key, want string) {
		t.Helper()
		c, err := parseConfig(parameters, "a:1*1 b:1*1")
		if err != nil {
			t.Fatal(err)
		}
		if got := newRing(t, c).text.of([]byte(key), nil); string(got) != want {
			t.Errorf("%s: the hashed text of %q is %q, want %q", parameters, key, got, want)
		}
	}
	f("crc-buckets", "a b%", "a b%")
	f("crc-buckets key_escape=none", "a b%", "a b%")
	f("crc-buckets key_escape=nginx-lower", "a b%\x1f\x7f\u00e9", "a%20b%25%1f\x7f\u00e9")
	f("crc-buckets key_escape=nginx-upper", "a b%\x1f\x7f\u00e9", "a%20b%25%1F\x7f\u00e9")
	f("crc-buckets key_escape=nginx-upper", "plain", "plain")
	f("crc-buckets namespace=n:", "k", "k")
	f("crc-buckets namespace=n: hash_namespace=true", "k", "n:k")
	f("crc-buckets namespace=n% hash_namespace=true key_escape=nginx-lower", "%", "n%%25")
	f("dalli namespace=n:", "k", "n:k")
	f("dalli namespace=n: hash_namespace=false", "k", "k")
	f("twemproxy-modula hash_tag={}", "a{b}c}", "b")
	f("twemproxy-modula hash_tag={}", "a{}c{d}", "a{}c{d}")
	f("twemproxy-modula hash_tag={}", "a}b{c", "a}b{c")
	f("twemproxy-modula hash_tag=$$", "a$b$c$", "b")
	f("twemproxy-modula hash_tag={} namespace={n}:", "a{b}", "n")
	long := strings.Repeat("%", textRoom)
	f("crc-buckets key_escape=nginx-lower", long, strings.Repeat("%25", textRoom))
}

// TestLabels checks the text of a server on a ring.
func TestLabels(t *testing.T) {
	f := func(label func(string) (string, error), given, want string) {
		t.Helper()
		if got, err := label(given); err != nil || got != want {
			t.Errorf("the label of %s is %q (%v), want %q", given, got, err, want)
		}
	}
	f(cmfLabel, "a:1", "a\x001")
	f(cmfLabel, "::1:20000", "::1\x0020000")
	f(cmfLabel, "[::1]:20000", "[::1]\x0020000")
	f(cmfLabel, "[::1]", "[::1]\x00")
	f(cmfLabel, "/tmp/s", "/tmp/s\x00")
	f(cmfLabel, "unix:/tmp/s", "/tmp/s\x00")
	f(libmemcachedLabel, "a:11211", "a")
	f(libmemcachedLabel, "a:1", "a:1")
	f(libmemcachedLabel, "a", "a")
	f(libmemcachedLabel, "/tmp/s", "/tmp/s:0")
	f(twemproxyLabel, "alpha", "alpha")
	f(twemproxyLabel, "a:11211", "a")
	f(twemproxyLabel, "/tmp/s", "/tmp/s:")
	f(portedLabel, "a", "a:11211")
	f(portedLabel, "a:11211", "a:11211")
	f(portedLabel, "/tmp/s", "/tmp/s")
	f(libmemcachedLabel, "unix:/tmp/s", "/tmp/s:0")
	f(twemproxyLabel, "unix:/tmp/s", "/tmp/s:")
	f(spyStyleLabel, "unix:/tmp/s", "//tmp/s:0")
	f(spyStyleLabel, "a", "/a:11211")
	f(spyStyleLabel, "/tmp/s", "//tmp/s:0")
	f(spymemcachedLabel, "127.0.0.1:11211", "127.0.0.1:11211")
	f(spymemcachedLabel, "localhost/127.0.0.1:11211", "localhost/127.0.0.1:11211")
	f(spymemcachedLabel, "/127.0.0.1:11211", "127.0.0.1:11211")
}

// TestRehash checks the order in which Cache::Memcached tries servers.
func TestRehash(t *testing.T) {
	c, err := parseConfig("crc-buckets rehash=true", "a*1 b*1 c*1 d*1 e*1")
	if err != nil {
		t.Fatal(err)
	}
	r := newRing(t, c)
	key := []byte("user::1")
	var want, got []int
	sum := crc32.ChecksumIEEE(key) >> 16 & 0x7fff
	for try := 1; try <= 20; try++ {
		want = append(want, int(sum%5))
		sum += crc32.ChecksumIEEE(fmt.Appendf(nil, "%d%s", try, key)) >> 16 & 0x7fff
	}
	none := r.FindUp(key, func(server int) bool {
		got = append(got, server)
		return false
	})
	if none != -1 || !slices.Equal(got, want) {
		t.Errorf("got %d after the servers %v, want -1 after %v", none, got, want)
	}
	c.Rehash = false
	got = nil
	if none = newRing(t, c).FindUp(key, func(server int) bool {
		got = append(got, server)
		return false
	}); none != -1 || !slices.Equal(got, want[:1]) {
		t.Errorf("without rehash: got %d after the servers %v, want -1 after the first", none, got)
	}
}

// TestNewRefuses checks the errors of New.
func TestNewRefuses(t *testing.T) {
	f := func(parameters, servers, want string) {
		t.Helper()
		c, err := parseConfig(parameters, servers)
		if err != nil {
			t.Fatal(err)
		}
		if _, err = New(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s for %s: got the error %v, want %q", parameters, servers, err, want)
		}
	}
	f("ketama", "a*1", `unknown distribution "ketama"; there are cmf-ketama, `)
	f("cmf-ketama", "a*1", "distribution cmf-ketama: it needs points")
	f("cmf-ketama points=-1", "a*1", "it needs points")
	f("cmf-ketama points=150", "", "there are no servers")
	f("cmf-ketama points=150", strings.Repeat("a*1 ", MaxServers+1), "there are 4097 servers")
	f("cmf-ketama points=150", "a*0", "weight 0")
	f("cmf-ketama points=150", "a*-1", "weight -1")
	f("cmf-ketama points=150", "a*NaN", "weight NaN")
	f("cmf-ketama points=150", "a*+Inf", "weight +Inf")
	f("cmf-ketama points=150", "a*1 b*6990", "make 1048650 points, and there may be 1048576")
	f("cmf-ketama points=1", "a*0.1 b*0.1", "no server has a point")
	f("cmf-ketama points=150", "a:1*1 b:1*1 a:1*1", "server 3: a:1 is the same on the ring as a:1, server 1")
	f("cmf-ketama points=150", "a:1*1 *1", "server 2: it has no label")
	f("cmf-ketama points=150 hash=crc32", "a*1", "it takes no hash")
	f("cmf-ketama points=150 key_escape=nginx", "a*1", `unknown key escape "nginx"`)
	f("cmf-ketama points=150 rehash=true", "a*1", "it does not rehash")
	f("cmf-ketama points=150 hash_tag={}", "a*1", "it takes no hash tag")
	f("libmemcached-ketama", "a*1 a:11211*1", "server 2: a:11211 is the same on the ring as a, server 1")
	f("libmemcached-ketama", "a*1.5", "whole weights only")
	f("libmemcached-ketama hash=sha", "a*1", `unknown hash "sha"; there are md5, one_at_a_time, crc, `)
	f("libmemcached-ketama point_hash=md5", "a*1", "it takes no point hash")
	f("libmemcached-consistent", "a*2 b*1", "libmemcached turns to libmemcached-ketama")
	f("libmemcached-consistent point_hash=x", "a*1", `unknown point hash "x"`)
	f("libmemcached-consistent points=100", "a*1", "it takes no points")
	f("modula", "a*2 b*1", "twemproxy-modula uses them")
	f("crc-buckets", "a*32768 b*1", "a hash of 15 bits reaches")
	f("crc-buckets", "a*0.1 b*0.1", "it takes 0.5 to make a bucket")
	f("pecl-standard", "a*65536 b*1", "make 65537 slots")
	f("pecl-consistent", "a*6553 b*1", "make 1048640 points")
	f("twemproxy-ketama hash_tag={", "a*1", "it is two characters")
	f("spymemcached", "localhost:11212*1", "as localhost/127.0.0.1:11211")
	f("spymemcached", "127.0.0.1*1", "it has no port")
	f("ch3", "a*2 b*1", "it takes no weights")
	f("rendezvous-pymemcache", "a:1*1 a:1*1", "the same on the ring")
}

// TestMistakesHaveAField checks the field of each error, with which a configuration finds its
// line.
func TestMistakesHaveAField(t *testing.T) {
	f := func(parameters, servers string, field Field, server int) {
		t.Helper()
		c, err := parseConfig(parameters, servers)
		if err != nil {
			t.Fatal(err)
		}
		_, err = New(c)
		m, ok := errors.AsType[*Mistake](err)
		if !ok || m.Field != field || m.Server != server || m.Distribution != c.Name {
			t.Errorf("%s for %s: got %#v, want field %d of server %d", parameters, servers, err, field, server)
		}
	}
	f("ketama", "a*1", FieldName, -1)
	f("cmf-ketama", "a*1", FieldPoints, -1)
	f("libmemcached-ketama hash=sha", "a*1", FieldHash, -1)
	f("libmemcached-consistent point_hash=x", "a*1", FieldPointHash, -1)
	f("twemproxy-ketama hash_tag={", "a*1", FieldHashTag, -1)
	f("crc-buckets key_escape=x", "a*1", FieldKeyEscape, -1)
	f("dalli rehash=true", "a*1", FieldRehash, -1)
	f("crc-buckets", "a*32768 b*1", FieldServers, -1)
	f("ch3", "a*1 b*2", FieldWeight, 1)
	f("spymemcached", "127.0.0.1:1*1 b:2*1", FieldLabel, 1)
}

// TestNames checks the lists of distributions and hashes.
func TestNames(t *testing.T) {
	if got := Hashes("pecl-consistent"); !slices.Equal(got, []string{"crc32", "fnv"}) {
		t.Errorf("hashes of pecl-consistent: %v", got)
	}
	for _, name := range []string{"dalli", "ch3", "none of these"} {
		if got := Hashes(name); got != nil {
			t.Errorf("hashes of %s: %v", name, got)
		}
	}
	seen := map[string]bool{}
	for _, name := range Names() {
		if seen[name] {
			t.Errorf("%s is listed twice", name)
		}
		seen[name] = true
	}
	if r := newRing(t, allConfigs()[0]); r.Name() != Names()[0] {
		t.Errorf("a ring of %s has the name %s", Names()[0], r.Name())
	}
}

// FuzzFind compares look-ups with a linear search, and the checksum with the standard
// library's.
func FuzzFind(f *testing.F) {
	var rings []*Ring
	for _, c := range allConfigs() {
		c.Servers[1].Label = "10.0.0.9"
		if strings.HasPrefix(c.Name, "spy") {
			continue
		}
		if r := newRing(f, c); r.method == upward || r.method == downward {
			rings = append(rings, r)
		}
	}
	for _, key := range []string{"", "a", "edge::17065932", "edgem::17144867", "\u043a\u043b\u044e\u0447", "\xff\x00%"} {
		f.Add([]byte(key), uint32(len(key)))
	}
	f.Fuzz(func(t *testing.T, key []byte, hash uint32) {
		before := bytes.Clone(key)
		if got, want := checksum(key), crc32.ChecksumIEEE(key); got != want {
			t.Errorf("got the checksum %08x, want %08x", got, want)
		}
		for _, r := range rings {
			h := r.hash.sum(key)
			if got, want := r.Find(key), linearSearch(r, h); got != want {
				t.Errorf("%s: %q with the hash %d: got server %d, want %d", r.name, key, h, got, want)
			}
			i := r.continuum.up(hash)
			if r.method == downward {
				i = r.continuum.down(hash)
			}
			if got, want := int(r.continuum.points[i].server), linearSearch(r, hash); got != want {
				t.Errorf("%s: hash %d: got server %d, want %d", r.name, hash, got, want)
			}
		}
		if !bytes.Equal(key, before) {
			t.Errorf("the key %q was changed to %q", before, key)
		}
	})
}

// linearSearch returns the server of the point that is nearest to h in the ring's direction.
func linearSearch(r *Ring, h uint32) int {
	nearest, server := uint32(0), -1
	for _, p := range r.continuum.points {
		distance := p.value - h
		if r.method == downward {
			distance = h - p.value
		}
		if server < 0 || distance < nearest {
			nearest, server = distance, int(p.server)
		}
	}
	return server
}
