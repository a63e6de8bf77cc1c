package api

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"testing"
)

// packed are positions of CouchDB 3 with the shards of a database on one node: two with no
// changes and with a UUID each, two of a version without UUIDs, and one with four shards.
const (
	packedEmpty = `"0-g1AAAACXeJzLYWBgYMpgLhdMzi9NzkhJcjA0MtczAELDHJBMHguQZGgAUv-BICuDOZEhFyjAnmJuZp5ikIRFG26zEhmS6lEMMbG0NLdMMcOiPgsAuF0ogA"`
	packedPlain = `"0-g1AAAABVeJzLYWBgYMpgLhdMzi9NzkhJcjA0MtczAELDHJBMHguQZGgAUv-BICuRAbfSRIakeoiaLACuiRhq"`
	packedOther = `"0-g1AAAADXeJzLYWBgYMlgTmGQSc4vTc5ISXKA0roGein5ydmpRXrJ-bk5QFVMSQ5AMqn-____WYkMxGnJYwGSDA1ACqhrP4naDkC0EW9bIkOSPUR9FgCTEUYq"`
)

func TestReplaced(t *testing.T) {
	f := func(before, now string, want bool) {
		t.Helper()
		if got := DatabaseReplaced(before, now); got != want {
			t.Errorf("%s and then %s: %t; want %t", before, now, got, want)
		}
	}
	f("12", "12", false)
	f("12", "13", false)
	f("12", "11", true)
	f(`"12-a"`, `"13-a"`, false)
	f(`"12-a"`, `"9-a"`, true)
	f(`"12-a"`, `"13-b"`, true)
	f(`"12-a"`, `"13"`, false)
	f(`[12,"a"]`, `[11,"a"]`, true)
	f(`[12,"a"]`, `[12,"a"]`, false)
	f("", "3", false)
	f(`"x"`, `"a"`, false)
	f("null", `"1"`, false)
	f(packedEmpty, packedEmpty, false)
	f(packedPlain, packedEmpty, false) // the first position has no UUIDs yet
	f(packedEmpty, packedOther, false) // of other nodes of a cluster
	f(packedEmpty, `"3-g1AAAA"`, false)
	f(pack(t, 5, "aaaaaaa"), pack(t, 6, "aaaaaaa"), false)
	f(pack(t, 5, "aaaaaaa"), pack(t, 4, "aaaaaaa"), true)
	f(pack(t, 5, "aaaaaaa"), pack(t, 9, "bbbbbbb"), true)
}

// TestUnpack checks that positions of CouchDB 3 are unpacked, and that other input is
// rejected.
func TestUnpack(t *testing.T) {
	got := parsePosition(packedEmpty)
	want := map[string]shard{
		"couchdb@127.0.0.1 80000000-ffffffff": {0, "d767d0b"}, "couchdb@127.0.0.1 0-7fffffff": {0, "49979d6"},
	}
	if len(got.shards) != len(want) {
		t.Fatalf("got %v; want %v", got.shards, want)
	}
	for name, s := range want {
		if got.shards[name] != s {
			t.Errorf("%s: got %v; want %v", name, got.shards[name], s)
		}
	}
	if n := len(parsePosition(packedOther).shards); n != 4 {
		t.Errorf("got %d shards, want four", n)
	}
}

func FuzzReplaced(f *testing.F) {
	for _, s := range []string{packedEmpty, packedPlain, packedOther, `"1-g2wAAAABaAJq"`, `[1,"x"]`, "7"} {
		f.Add(s, s)
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		if DatabaseReplaced(a, a) {
			t.Errorf("%s replaces itself", a)
		}
		DatabaseReplaced(a, b)
	})
}

// pack returns the position of a database with one shard.
func pack(t *testing.T, seq int, uuid string) string {
	t.Helper()
	var b bytes.Buffer
	name := func(tag byte, text string) { b.WriteByte(tag); b.WriteByte(byte(len(text))); b.WriteString(text) }
	b.Write([]byte{131, 108, 0, 0, 0, 1, 104, 3})
	name(119, "couchdb@127.0.0.1")
	b.Write([]byte{108, 0, 0, 0, 2, 97, 0, 98, 127, 255, 255, 255, 106, 104, 3, 97, byte(seq), 109, 0, 0, 0, byte(len(uuid))})
	b.WriteString(uuid)
	name(119, "couchdb@127.0.0.1")
	b.WriteByte(106)
	return fmt.Sprintf(`"%d-%s"`, seq, base64.RawURLEncoding.EncodeToString(b.Bytes()))
}
