package memcached

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kasoku/kasoku/internal/memcached/value"
)

// storedText returns the text that the writers below store. It has characters outside ASCII,
// and is long enough for each writer to compress it.
func storedText() string {
	var b strings.Builder
	for i := range 200 {
		fmt.Fprintf(&b, `{"entry": %d, "status": "success", "größe": "数字 %d"}`+"\n", i, i*i)
	}
	return b.String()
}

// storedList is the JSON of a list that PHP stores.
func storedList() string {
	return `{"status":"success","counts":[1000` + strings.Repeat(",1000", 999) + "]}"
}

// written is a value of one of the writers, and the expected result of reading it.
type written struct {
	key    string
	flags  uint32 // stored by the writer
	coding value.Coding
	json   bool
	want   string
	reason value.Reason // of one that cannot be sent
}

// writers returns the programs that store values, and the values of each.
func writers() []writer {
	const (
		gzip, zlib, fastlz = value.Gzip, value.Zlib, value.FastLZ
		refused, unknown   = value.Serialised, value.Unknown
	)
	text := storedText()
	return []writer{
		{"cmf", "perl", "perl/values.pl", []written{
			{key: "cmf-plain", want: text},
			{key: "cmf-utf8", flags: 4, want: text},
			{key: "cmf-gzip", flags: 2, coding: gzip, want: text},
			{key: "cmf-utf8-gzip", flags: 6, coding: gzip, want: text},
			{key: "cmf-short", want: "short"},
			{key: "cmf-number", want: "1000"},
			{key: "cmf-storable", flags: 1, reason: refused},
			{key: "cmf-storable-gzip", flags: 3, reason: refused},
		}},
		{"perl", "perl", "perl/values.pl", []written{
			{key: "perl-plain", want: text},
			{key: "perl-gzip", flags: 2, coding: gzip, want: text},
			{key: "perl-storable", flags: 3, reason: refused},
		}},
		{"php", "php", "php/values.php", []written{
			{key: "php-plain", want: text},
			{key: "php-short", want: "short"},
			{key: "php-fastlz", flags: 0x50, coding: fastlz, want: text},
			{key: "php-fastlz-long", flags: 0x50, coding: fastlz, want: strings.Repeat(text, 20)},
			{key: "php-zlib", flags: 0x30, coding: zlib, want: text},
			{key: "php-flags", flags: 77<<16 | 0x50, coding: fastlz, want: text},
			{key: "php-int", flags: 1, json: true, want: "1000"},
			{key: "php-negative", flags: 1, json: true, want: "-17"},
			{key: "php-float", flags: 2, coding: value.Decimal, json: true, want: "0.5"},
			{key: "php-large", flags: 2, json: true, want: "1.5e+300"},
			{key: "php-infinite", flags: 2, reason: unknown},
			{key: "php-true", flags: 3, json: true, want: "true"},
			{key: "php-false", flags: 3, json: true, want: "false"},
			{key: "php-json", flags: 6, json: true, want: `{"count":1000}`},
			{key: "php-json-fastlz", flags: 0x56, coding: fastlz, json: true, want: storedList()},
			{key: "php-json-zlib", flags: 0x36, coding: zlib, json: true, want: storedList()},
			{key: "php-json-string", flags: 0x50, coding: fastlz, want: text},
			{key: "php-serialised", flags: 0x54, reason: refused},
			{key: "php-igbinary", flags: 0x55, reason: refused},
			{key: "php-msgpack", flags: 0x57, reason: refused},
		}},
		{"pecl", "php", "php/memcache.php", []written{
			{key: "pecl-plain", want: text},
			{key: "pecl-zlib", flags: 2, coding: zlib, want: text},
			{key: "pecl-auto", flags: 2, coding: zlib, want: strings.Repeat(text, 3)},
			{key: "pecl-flags", flags: 1<<16 | 2, coding: zlib, want: text},
			{key: "pecl-int", flags: 0x300, json: true, want: "1000"},
			{key: "pecl-float", flags: 0x700, json: true, want: "0.5"},
			{key: "pecl-infinite", flags: 0x700, reason: unknown},
			{key: "pecl-true", flags: 0x100, json: true, want: "true"},
			{key: "pecl-false", flags: 0x100, json: true, want: "false"},
			{key: "pecl-array", flags: 1, reason: refused},
			{key: "pecl-array-zlib", flags: 3, reason: refused},
		}},
		{"pylibmc", "python", "python/values.py", []written{
			{key: "pylibmc-bytes", want: text},
			{key: "pylibmc-text", flags: 16, want: text},
			{key: "pylibmc-zlib", flags: 8, coding: zlib, want: text},
			{key: "pylibmc-text-zlib", flags: 24, coding: zlib, want: text},
			{key: "pylibmc-text-zlib9", flags: 24, coding: zlib, want: text},
			{key: "pylibmc-int", flags: 4, json: true, want: "1000"},
			{key: "pylibmc-long", flags: 4, json: true, want: "1" + strings.Repeat("0", 40)},
			{key: "pylibmc-true", flags: 2, json: true, want: "1"},
			{key: "pylibmc-pickle", flags: 1, reason: refused},
			{key: "pylibmc-pickle-zlib", flags: 9, reason: refused},
		}},
		{"python-memcached", "python", "python/others.py", []written{
			{key: "python-memcached-bytes", want: text},
			{key: "python-memcached-text", flags: 16, want: text},
			{key: "python-memcached-text-zlib", flags: 24, coding: zlib, want: text},
			{key: "python-memcached-int", flags: 2, json: true, want: "1000"},
			{key: "python-memcached-true", flags: 1, reason: refused},
			{key: "python-memcached-pickle", flags: 1, reason: refused},
			{key: "python-memcached-pickle-zlib", flags: 9, reason: refused},
		}},
		{"pymemcache", "python", "python/others.py", []written{
			{key: "pymemcache-bytes", want: text},
			{key: "pymemcache-text", flags: 16, want: text},
			{key: "pymemcache-text-zlib", flags: 24, coding: zlib, want: text},
			{key: "pymemcache-bytes-zlib", flags: 8, coding: zlib, want: text},
			{key: "pymemcache-int", flags: 2, json: true, want: "1000"},
			{key: "pymemcache-pickle", flags: 1, reason: refused},
			{key: "pymemcache-pickle-zlib", flags: 9, reason: refused},
		}},
		{"dalli", "ruby", "ruby/values.rb", []written{
			{key: "dalli-raw", want: text},
			{key: "dalli-raw-zlib", flags: 2, coding: zlib, want: text},
			{key: "dalli-raw-gzip", flags: 2, coding: gzip, want: text},
			{key: "dalli-raw-number", want: "1000"},
			{key: "dalli-string", flags: 1, reason: refused},
			{key: "dalli-string-zlib", flags: 3, reason: refused},
			{key: "dalli-list", flags: 1, reason: refused},
		}},
	}
}

// writer is a client library: the profile that reads its values, and the program and script
// that store them.
type writer struct {
	profile, program, script string
	values                   []written
}

// run has the writer store its values.
func (w *writer) run(t testing.TB, s *Server) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(file, []byte(storedText()), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{s.Addr, file}
	if s.sasl != nil {
		args = append(args, s.sasl.user, s.sasl.password)
	}
	runWriter(t, &bytes.Buffer{}, w.program, w.script, args...)
}

// TestWrittenValues stores values with the client libraries and reads them from memcached:
// each must be equal to the stored one, byte for byte, or be refused.
func TestWrittenValues(t *testing.T) {
	for _, w := range writers() {
		t.Run(w.profile, func(t *testing.T) {
			s := Start(t)
			w.run(t, s)
			profile, err := value.Parse(w.profile)
			if err != nil {
				t.Fatal(err)
			}
			for _, x := range w.values {
				item, found := s.Held(t, x.key)[x.key]
				if !found || item.Flags != x.flags {
					t.Errorf("%s: found %v, with flags %#x, want flags %#x", x.key, found, item.Flags, x.flags)
					continue
				}
				x.read(t, profile, item)
			}
		})
	}
}

func (x *written) read(t *testing.T, p value.Profile, item Item) {
	t.Helper()
	v, reason := p.Inspect(item.Flags, item.Value)
	if reason != x.reason || v.Coding != x.coding {
		t.Errorf("%s: got %v, %v, want %v, %v", x.key, reason, v.Coding, x.reason, x.coding)
	}
	if reason != value.OK {
		return
	}
	if got, err := v.AppendPlain(nil, 1<<20); err != nil || string(got) != x.want {
		t.Errorf("%s: got %.100q (%d bytes), %v, want %.100q (%d)", x.key, got, len(got), err, x.want, len(x.want))
	}
}
