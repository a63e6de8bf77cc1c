package value

import (
	"fmt"
	"slices"
	"strings"
)

// Profile is a kind of writer, which defines the meaning of flags. The zero value is Raw.
type Profile uint8

const (
	// Raw ignores flags: values are text or bytes, which are decoded if they begin like
	// gzip, zlib or zstd.
	Raw Profile = iota
	// Bytes ignores flags and contents: values are sent as stored.
	Bytes
	// CMF is Perl's Cache::Memcached::Fast.
	CMF
	// Perl is Perl's Cache::Memcached.
	Perl
	// PECL is PHP's older extension, memcache.
	PECL
	// PHP is PHP's extension memcached, 2.0 and later.
	PHP
	// Pylibmc is Python's pylibmc.
	Pylibmc
	// Python is python-memcached, and pymemcache with its serde.
	Python
	// Dalli is Ruby's dalli.
	Dalli
	// Spymemcached is Java's spymemcached, and libraries with its transcoder.
	Spymemcached
)

// names are the names in the configuration; String returns the first one.
var names = [...][]string{
	Raw:          {"raw"},
	Bytes:        {"bytes"},
	CMF:          {"cmf"},
	Perl:         {"perl"},
	PECL:         {"pecl"},
	PHP:          {"php"},
	Pylibmc:      {"pylibmc"},
	Python:       {"python-memcached", "pymemcache"},
	Dalli:        {"dalli"},
	Spymemcached: {"spymemcached"},
}

// String returns the profile's name.
func (p Profile) String() string { return names[p][0] }

// Profiles returns the names that Parse accepts.
func Profiles() []string { return slices.Concat(names[:]...) }

// Parse returns the profile with that name; Raw if it is empty.
func Parse(name string) (Profile, error) {
	if name == "" {
		return Raw, nil
	}
	for p, of := range names {
		if slices.Contains(of, name) {
			return Profile(p), nil
		}
	}
	return Raw, fmt.Errorf("%q is no writer of values: one of %s", name, strings.Join(Profiles(), ", "))
}

// Flags returns the flags for storing a string of bytes as this writer would, not
// serialised and not compressed. They are 0 for every writer: some have further flags for text
// (Cache::Memcached::Fast with utf8, and the Python ones), but these promise decoded text,
// and bytes of an arbitrary content type need not be text.
func (p Profile) Flags() uint32 { return 0 }
