package memcached

import (
	"bytes"
	"testing"

	"github.com/kasoku/kasoku/internal/memcached/value"
)

// TestClientsReadStrings reads a string with each client library that was stored with the
// flags of its profile. The result must have the same bytes and be a string.
func TestClientsReadStrings(t *testing.T) {
	s := Start(t)
	f := func(profile, want, program, script string, args ...string) {
		t.Helper()
		p, err := value.Parse(profile)
		if err != nil {
			t.Fatal(err)
		}
		s.Set(t, "key", p.Flags(), 0, want)
		if got := runWriter(t, &bytes.Buffer{}, program, script, append(args, s.Addr, "key")...); got != want {
			t.Errorf("%s: got %q, want %q", profile, got, want)
		}
	}
	for _, want := range []string{storedText(), "\x00\xff\r\n"} {
		f("cmf", want, "perl", "perl/read.pl", "Cache::Memcached::Fast")
		f("perl", want, "perl", "perl/read.pl", "Cache::Memcached")
		f("php", want, "php", "php/read.php", "Memcached")
		f("pecl", want, "php", "php/read.php", "Memcache")
		f("pylibmc", want, "python", "python/read.py", "pylibmc")
		f("python-memcached", want, "python", "python/read.py", "python-memcached")
		f("pymemcache", want, "python", "python/read.py", "pymemcache")
		f("dalli", want, "ruby", "ruby/read.rb")
	}
}
