package httpcache

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/kasoku/kasoku/internal/httpcache/disk"
	"github.com/kasoku/kasoku/internal/httpcache/store"
	"github.com/kasoku/kasoku/internal/purge"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// newDiskSite is newSite with bodies longer than 64 KiB on disk in dir. stop also releases the
// directory.
func newDiskSite(t *testing.T, dir string, script func(*asked), change ...func(*Config)) (*site, *disk.Tier) {
	t.Helper()
	tier, err := disk.Open(dir, disk.Options{Size: 1 << 30, MaxBody: 1 << 29})
	if err != nil {
		t.Fatal(err)
	}
	s := newSite(t, script, append([]func(*Config){func(c *Config) { c.Disk, c.DiskFrom = tier, 64<<10 }}, change...)...)
	stop := s.stop
	s.stop = func() {
		stop()
		if err := tier.Close(); err != nil {
			t.Error(err)
		}
	}
	return s, tier
}

// byteAt returns the byte of a long body at a position.
func byteAt(i int64) byte { return byte(i ^ i>>8 ^ i>>16) }

func longBody(n int64) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = byteAt(int64(i))
	}
	return string(b)
}

// bodiesOnDisk returns the number of bodies on disk.
func (s *site) bodiesOnDisk() int { return s.store.DiskStats().Files }

const onDiskBody = 300_000

// respondLong answers with a long body that is fresh for a minute, and has an entity tag.
func respondLong(a *asked) {
	a.ok(longBody(onDiskBody), `ETag: "1"`, "Surrogate-Key: all "+strings.Fields(a.head)[1][1:])
}

// A long body is on disk, answers the same requests as one in memory, and still does after a
// restart, without the origin.
func TestFromDisk(t *testing.T) {
	dir, body := filepath.Join(t.TempDir(), "cache"), longBody(onDiskBody)
	s, _ := newDiskSite(t, dir, respondLong)
	if g := s.ask("GET /a"); g.body != body || !strings.Contains(g.get("Cache-Status"), "stored") {
		t.Fatalf("the first answer: %d, %d bytes, %s", g.status, len(g.body), g.get("Cache-Status"))
	}
	f := func(t *testing.T, s *site, line string, status int, want string, fields ...string) {
		t.Helper()
		g := s.ask(line, fields...)
		if g.status != status || g.body != want || g.cut || !strings.Contains(g.get("Cache-Status"), "kasoku; hit") {
			t.Errorf("%s %s: got %d with %d bytes, %s; want %d with %d", line, fields, g.status, len(g.body), g.get("Cache-Status"), status, len(want))
		}
	}
	all := func(t *testing.T, s *site) {
		f(t, s, "GET /a", 200, body)
		f(t, s, "HEAD /a", 200, "")
		f(t, s, "GET /a", 304, "", `If-None-Match: "1"`)
		f(t, s, "GET /a", 206, body[:1], "Range: bytes=0-0")
		f(t, s, "GET /a", 206, body[65_000:140_000], "Range: bytes=65000-139999")
		f(t, s, "GET /a", 206, body[onDiskBody-10:], "Range: bytes=-10")
		if g := s.ask("GET /a", "Range: bytes=5-9,200000-200001"); g.status != 206 || !strings.Contains(g.body, body[5:10]) || !strings.Contains(g.body, body[200_000:200_002]) {
			t.Errorf("two ranges: %d, %d bytes", g.status, len(g.body))
		}
		if s.bodiesOnDisk() != 1 {
			t.Errorf("%d bodies on disk, want 1", s.bodiesOnDisk())
		}
	}
	all(t, s)
	if n := len(s.origin.requests()); n != 1 {
		t.Errorf("%d requests to the origin", n)
	}
	s.stop()
	s, _ = newDiskSite(t, dir, respondLong)
	defer s.stop()
	all(t, s)
	if n := len(s.origin.requests()); n != 0 {
		t.Errorf("%d requests to the origin after the restart, want 0", n)
	}
}

// The age of a response on disk continues through a restart, and fields hidden from hits are
// not written.
func TestFromDiskKeepsItsHead(t *testing.T) {
	dir := t.TempDir()
	script := func(a *asked) {
		a.ok(longBody(onDiskBody), "Age: 30", "Vary: Accept-Language", `Cache-Control: no-cache="x-own"`, "X-Own: secret", "X-All: yes")
	}
	s, _ := newDiskSite(t, dir, script)
	s.ask("GET /a", "Accept-Language: en")
	s.stop()
	for _, name := range heads(t, dir) {
		if b, err := os.ReadFile(name); err != nil || strings.Contains(string(b), "secret") {
			t.Errorf("a field hidden from hits is on disk, or %v", err)
		}
	}
	s, _ = newDiskSite(t, dir, script)
	defer s.stop()
	g := s.ask("GET /a", "Accept-Language: en")
	var age int
	if fmt.Sscan(g.get("Age"), &age); age < 30 || g.get("X-Own") != "" || g.get("X-All") != "yes" || len(g.body) != onDiskBody {
		t.Errorf("got status %d, fields %s", g.status, written(g.fields))
	}
	if g := s.ask("GET /a", "Accept-Language: de"); !strings.Contains(g.get("Cache-Status"), "fwd=vary-miss") {
		t.Errorf("another variant: %s", g.get("Cache-Status"))
	}
}

// A response written by another version is refused at the start, counted, and fetched again.
func TestAnotherVersionOnDisk(t *testing.T) {
	dir := t.TempDir()
	s, _ := newDiskSite(t, dir, respondLong)
	s.ask("GET /a")
	s.stop()
	tier, err := disk.Open(dir, disk.Options{Size: 1 << 30, MaxBody: 1 << 29})
	if err != nil {
		t.Fatal(err)
	}
	part, found, err := tier.Part("site", nil)
	if err != nil || len(found) != 1 {
		t.Fatalf("%d bodies, %v", len(found), err)
	}
	found[0].Meta[0]++ // the version of its record
	err = found[0].File.Rewrite(found[0].Meta, false)
	part.Close()
	if err := errors.Join(err, tier.Close()); err != nil {
		t.Fatal(err)
	}
	s, tier = newDiskSite(t, dir, respondLong)
	defer s.stop()
	if n := tier.Stats().Refused; n != 1 || s.bodiesOnDisk() != 0 {
		t.Errorf("%d refused, %d on disk; want 1, 0", n, s.bodiesOnDisk())
	}
	if g := s.ask("GET /a"); g.status != 200 || len(s.origin.requests()) != 1 {
		t.Errorf("got %d after %d requests to the origin, want 200 after 1", g.status, len(s.origin.requests()))
	}
}

// heads returns the names of the heads on disk.
func heads(t *testing.T, dir string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "site", "*.head"))
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// A response that was purged or written to is not served after a restart.
func TestDroppedAfterRestart(t *testing.T) {
	f := func(name string, drop func(*site), status string) {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s, _ := newDiskSite(t, dir, func(a *asked) {
				if strings.HasPrefix(a.head, "GET") {
					respondLong(a)
				} else {
					a.ok("", "Cache-Group-Invalidation: \"g\"")
				}
			})
			for range 2 {
				s.ask("GET /a")
			}
			before := len(heads(t, dir))
			drop(s)
			after := len(heads(t, dir))
			s.stop()
			if soft := strings.Contains(name, "soft"); before != 1 || after != 0 && !soft || after != 1 && soft {
				t.Errorf("%d heads before the drop, %d after", before, after)
			}
			s, _ = newDiskSite(t, dir, respondLong)
			defer s.stop()
			if g := s.ask("GET /a"); !strings.HasPrefix(g.get("Cache-Status"), "kasoku; "+status+"; ttl=") || len(g.body) != onDiskBody {
				t.Errorf("got Cache-Status: %s", g.get("Cache-Status"))
			}
		})
	}
	drop := func(p store.Purge) func(*site) {
		return func(s *site) {
			if err := s.store.Purge(context.Background(), p); err != nil {
				s.t.Error(err)
			}
		}
	}
	f("URL", drop(store.Purge{Selector: purge.By(purge.URL, "http://site/a")}), "fwd=uri-miss; stored")
	f("prefix", drop(store.Purge{Selector: purge.By(purge.Prefix, "/")}), "fwd=uri-miss; stored")
	f("tag", drop(store.Purge{Selector: purge.By(purge.Tag, "all")}), "fwd=uri-miss; stored")
	f("all", drop(store.Purge{}), "fwd=uri-miss; stored")
	f("soft URL", drop(store.Purge{Selector: purge.By(purge.URL, "http://site/a"), Soft: true}), "fwd=stale; detail=soft-purged; stored")
	f("soft tag", drop(store.Purge{Selector: purge.By(purge.Tag, "a"), Soft: true}), "fwd=stale; detail=soft-purged; stored")
	f("soft all", drop(store.Purge{Soft: true}), "fwd=stale; detail=soft-purged; stored")
	f("POST", func(s *site) { s.ask("POST /a", "Content-Length: 0") }, "fwd=uri-miss; stored")
	f("unknown outcome", func(s *site) { s.store.Unknown([]byte("http://site/a")) }, "fwd=uri-miss; stored")
	f("PURGE", func(s *site) {
		cfg := s.settings.Load().cfg
		cfg.Purgers = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
		if err := s.Reconfigure(cfg); err != nil {
			s.t.Error(err)
		}
		if g := s.ask("PURGE /a"); g.status != 200 {
			s.t.Error(g.status)
		}
	}, "fwd=uri-miss; stored")
}

// A damaged body is fetched again if nothing of it has been sent, and cut otherwise. In both
// cases it is dropped.
func TestDamageOnDisk(t *testing.T) {
	f := func(at int64, line string, fields []string, cut bool) {
		t.Helper()
		dir := t.TempDir()
		s, _ := newDiskSite(t, dir, func(a *asked) { a.ok(longBody(1_000_000), `ETag: "1"`) })
		defer s.stop()
		s.ask("GET /a")
		damageBody(t, dir, at)
		g := s.ask(line, fields...)
		if g.cut != cut || s.store.DiskStats().Damaged != 1 {
			t.Errorf("damage at %d: %d, %d bytes, cut %v, %+v", at, g.status, len(g.body), g.cut, s.store.DiskStats())
		}
		if cut == (g.body == longBody(1_000_000)) && fields == nil {
			t.Errorf("damage at %d: the body is wrong", at)
		}
		if g := s.ask("GET /a"); g.body != longBody(1_000_000) {
			t.Errorf("damage at %d: the next answer has %d bytes", at, len(g.body))
		}
		if n := len(s.origin.requests()); n != 2 {
			t.Errorf("damage at %d: the origin got %d requests, want 2", at, n)
		}
	}
	f(0, "GET /a", nil, false)
	f(200_000, "GET /a", nil, false)
	f(262_144, "GET /a", nil, true)
	f(999_999, "GET /a", nil, true)
	f(999_999, "GET /a", []string{"Range: bytes=999990-"}, false)
	f(999_999, "GET /a", []string{"Range: bytes=0-1,999990-"}, true)
}

// damageBody changes one byte of the body on disk.
func damageBody(t *testing.T, dir string, at int64) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "site", "*.body"))
	if err != nil || len(names) != 1 {
		t.Fatalf("got %q, error %v", names, err)
	}
	f, err := os.OpenFile(names[0], os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt([]byte{byteAt(at) ^ 1}, at); err != nil {
		t.Fatal(err)
	}
}

// A body whose files were removed is fetched again.
func TestRemovedFromDisk(t *testing.T) {
	dir := t.TempDir()
	s, _ := newDiskSite(t, dir, respondLong)
	defer s.stop()
	s.ask("GET /a")
	if err := os.RemoveAll(filepath.Join(dir, "site")); err != nil {
		t.Fatal(err)
	}
	if g := s.ask("GET /a"); g.body != longBody(onDiskBody) || len(s.origin.requests()) != 2 {
		t.Errorf("got %d with %d bytes after %d requests to the origin, want the whole body after 2", g.status, len(g.body), len(s.origin.requests()))
	}
}

const hugeBody = 13 << 24 // 208 MiB

// A body far longer than max_object is kept, in little memory, and answers after a
// restart.
func TestHugeBody(t *testing.T) {
	dir, block := t.TempDir(), []byte(longBody(1<<24))
	huge := func(a *asked) {
		a.respond(fmt.Sprintf("HTTP/1.1 200 OK\nCache-Control: max-age=600\nContent-Length: %d\n\n", hugeBody))
		for range hugeBody >> 24 {
			if _, err := a.conn.Write(block); err != nil {
				return
			}
		}
	}
	s, _ := newDiskSite(t, dir, huge)
	before := heap()
	c := s.dial()
	c.send("GET /a HTTP/1.1\nHost: site")
	c.same(t, block, hugeBody/len(block))
	if grown := heap() - before; grown > 8<<20 {
		t.Errorf("the heap has grown by %d bytes", grown)
	}
	if n := s.Stats().Held; n != 0 {
		t.Errorf("flights hold %d bytes after the answer, want 0", n)
	}
	s.stop()
	s, _ = newDiskSite(t, dir, huge)
	defer s.stop()
	before = heap()
	for range 2 {
		c := s.dial()
		c.send("GET /a HTTP/1.1\nHost: site")
		c.same(t, block, hugeBody/len(block))
	}
	if g := s.ask("GET /a", "Range: bytes=104857600-104857609"); g.status != 206 || len(g.body) == 10 && g.body[0] != byteAt(104857600) || len(g.body) != 10 {
		t.Errorf("%d with %d bytes", g.status, len(g.body))
	}
	if grown := heap() - before; grown > 8<<20 {
		t.Errorf("the heap has grown by %d bytes", grown)
	}
	if n := len(s.origin.requests()); n != 0 || s.metrics.by[telemetry.Hit].Value() != 3 {
		t.Errorf("%d requests to the origin, %d hits", n, s.metrics.by[telemetry.Hit].Value())
	}
}

// heap returns the size of the live heap.
func heap() int64 {
	runtime.GC()
	runtime.GC() // pools are emptied in the second
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// same reads an answer whose body is block, repeated.
func (c *client) same(t *testing.T, block []byte, times int) {
	t.Helper()
	if g := c.head(); g.status != 200 || g.get("Content-Length") != fmt.Sprint(times*len(block)) {
		t.Fatalf("got status %d, fields %s", g.status, written(g.fields))
	}
	buf := make([]byte, 1<<16)
	for at := range times * len(block) / len(buf) {
		if n, err := io.ReadFull(c.r, buf); err != nil {
			t.Fatalf("after %d bytes: %v", at*len(buf)+n, err)
		}
		if i := at * len(buf) % len(block); !bytes.Equal(buf, block[i:i+len(buf)]) {
			t.Fatalf("wrong bytes after offset %d", at*len(buf))
		}
	}
}
