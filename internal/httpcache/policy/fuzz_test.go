package policy

import (
	"testing"

	"github.com/kasoku/kasoku/internal/ascii"
	"github.com/kasoku/kasoku/internal/http1"
)

// fuzz runs check on valid field values, as this package gets no others.
func fuzz(f *testing.F, seeds []string, check func(t *testing.T, value string)) {
	for _, s := range seeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, value string) {
		if http1.ValidValue([]byte(value)) && string(ascii.Trim([]byte(value))) == value {
			check(t, value)
		}
	})
}

func FuzzCacheControl(f *testing.F) {
	fuzz(f, []string{"max-age=60, no-store", `private="a, b", no-cache`, `max-age="6\0", x="no-store`, "s-maxage=, public;x", "stale-if-error=5,stale-while-revalidate=x"},
		func(t *testing.T, value string) {
			o := Defaults()
			h := fieldsOf("Cache-Control", value, "ETag", `"a"`)
			r := ParseResponse(200, h, then, then, &o)
			second := newRFCCache(o, "GET", message{}, 200, messageOf(h), int64(then), int64(then), Unmarked)
			if lifetime, explicit := second.freshness(); r.Lifetime != lifetime || r.Explicit() != explicit {
				t.Errorf("lifetime %d, want %d", r.Lifetime, lifetime)
			}
			for _, fl := range flags {
				if got := r.Directives.Has(fl.bit); got != second.hasDirective(fl.name) {
					t.Errorf("%s: got %t", fl.name, got)
				}
			}
			if len(r.Hidden) != len(second.hidden()) {
				t.Errorf("hidden %q, want %q", r.Hidden, second.hidden())
			}
			var q Request
			ParseRequest(&q, []byte("GET"), h, &o)
			if _, want := find(directives(splitList(value)), "no-store"); q.Directives.Has(NoStore) != want {
				t.Errorf("a request's no-store: %t", !want)
			}
		})
}

func FuzzTargetedField(f *testing.F) {
	fuzz(f, []string{"max-age=60, no-store", "max-age=60;x=1, private=(a \"b\");y, no-cache=?0", "a=:YQ==:, b=1.5, max-age=-1", `private="\"", s-maxage=5,`},
		func(t *testing.T, value string) {
			want, wantOK := targetedDirectives(value)
			c, ok := parseTargeted([]byte(value))
			if ok != wantOK {
				t.Fatalf("usable %t, want %t by the grammar", ok, wantOK)
			}
			second := rfcCache{policy: want}
			for _, fl := range flags {
				if got := c.flags.Has(fl.bit); ok && got != second.hasDirective(fl.name) {
					t.Errorf("%s: got %t", fl.name, got)
				}
			}
			if n, _ := second.lifetimeOf("max-age"); ok && max(0, c.maxAge) != n {
				t.Errorf("max-age %d, want %d", c.maxAge, n)
			}
		})
}

func FuzzDate(f *testing.F) {
	fuzz(f, []string{"Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994", "Sat, 31 Dec 2016 23:59:60 GMT", "0"},
		func(t *testing.T, value string) {
			got, ok := ParseDate([]byte(value), in2026)
			if want, wantOK := readDate(value, in2026); got != want || ok != wantOK {
				t.Errorf("%d %t, want %d %t", got, ok, want, wantOK)
			}
		})
}

func FuzzRange(f *testing.F) {
	fuzz(f, []string{"bytes=0-0", "bytes=5-", "bytes=-5", "bytes=0-4, 2-9,20-, -1", "bytes=99999999999999999999-", "items=0-1", "bytes=,"},
		func(t *testing.T, value string) {
			for _, length := range []int64{1, 10, maxDelta} {
				spans, ok := appendSpans(nil, []byte(value), length, 16)
				end := int64(-1)
				for _, s := range spans {
					if !ok || s.Start <= end || s.Length < 1 || s.Start+s.Length > length {
						t.Fatalf("spans %v of %d bytes, %t", spans, length, ok)
					}
					end = s.Start + s.Length
				}
			}
		})
}

func FuzzIfNoneMatch(f *testing.F) {
	fuzz(f, []string{`"a"`, `W/"a", "b"`, `"b", "a,b" ,, W/"c"`, "*", `"x,"a"`, `a, "a`, `"\", "a"`},
		func(t *testing.T, value string) {
			for _, tag := range []string{`"a"`, `W/"a"`, `"a,b"`, "a", `"\"`} {
				o := Defaults()
				ask, answer := fieldsOf("If-None-Match", value), fieldsOf("ETag", tag)
				var q Request
				ParseRequest(&q, []byte("GET"), ask, &o)
				r := ParseResponse(200, answer, then, then, &o)
				second := newRFCCache(o, "GET", messageOf(ask), 200, messageOf(answer), int64(then), int64(then), Unmarked)
				if got, want := NotModified(&q, &r, then, &o), second.notModified(int64(then)); got != want {
					t.Errorf("ETag %s: got %t, want %t", tag, got, want)
				}
			}
		})
}

func FuzzVary(f *testing.F) {
	fuzz(f, []string{"gzip, br;q=0.5", "en-GB,en;q=0.7,de", `"a, b",c`, ",,", "a,a,a"},
		func(t *testing.T, value string) {
			o := Defaults()
			reduced := o
			reduced.Encodings = []string{"br", "gzip"}
			for _, name := range []string{"accept-encoding", "accept-language", "foo", "cookie"} {
				for _, o := range []*Options{&o, &reduced} {
					r := ParseResponse(200, fieldsOf("Vary", name), then, then, o)
					h := fieldsOf(name, value)
					if values := AppendVaryValues(nil, r.Vary, h, o); !Matches(&r, values, h, o) {
						t.Errorf("%s does not match itself: %q", name, values)
					}
				}
			}
		})
}
