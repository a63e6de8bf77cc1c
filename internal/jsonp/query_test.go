package jsonp

import (
	"net/url"
	"slices"
	"strings"
	"testing"
)

func TestFindsTheName(t *testing.T) {
	dotted := with(t, Dotted, func(c *Config) { c.Aliases = []string{"jsonp", "jsoncallback"} })
	legacy := with(t, Legacy, nil)
	check := func(f *Filter, query, name string, asked Asked) {
		t.Helper()
		dst := []byte("kept ")
		got, a := f.Name(dst, []byte(query))
		if a != asked || a == Named && string(got) != "kept "+name || !strings.HasPrefix(string(got), "kept ") {
			t.Errorf("%s: %q: got %q, %d", f.cfg.Mode, query, got, a)
		}
	}
	f := func(query, name string, asked Asked) { t.Helper(); check(dotted, query, name, asked) }
	f("", "", NotAsked)
	f("a=1", "", NotAsked)
	f("callback=f", "f", Named)
	f("a=1&callback=f&b", "f", Named)
	f("&&callback=f&", "f", Named)
	f("jsonp=f", "f", Named)
	f("jsoncallback=f", "f", Named)
	f("callback=a%2Eb", "a.b", Named)
	f("callback=a%2eb", "a.b", Named)
	f("callback=%61b", "ab", Named)
	f("%63allback=f", "f", Named)
	f("callback=CKEDITOR._.jsonpCallbacks%5B197%5D", "CKEDITOR._.jsonpCallbacks[197]", Named)
	f("callback=CKEDITOR._.jsonpCallbacks[197]", "CKEDITOR._.jsonpCallbacks[197]", Named)
	f("callback=a%252Eb", "", Misnamed) // decoded once
	f("callback", "", NotAsked)
	f("callback=", "", NotAsked)
	f("callback=&callback=", "", NotAsked)
	f("callback=f&callback=f", "f", Named)
	f("callback=f&jsonp=%66", "f", Named)
	f("callback=f&callback=g", "", Misnamed)
	f("callback=f&callback=fg", "", Misnamed)
	f("callback=fg&callback=f", "", Misnamed)
	f("callback=f&jsonp=g", "", Misnamed)
	f("callback=f&callback=", "", Misnamed)
	f("callback=&callback=f", "", Misnamed)
	f("callback=f&callback=%", "", Misnamed)
	f("callback=1a", "", Misnamed)
	f("callback=f%", "", Misnamed)
	f("callback=f%6", "", Misnamed)
	f("callback=f%6g", "", Misnamed)
	f("callback=f%00", "", Misnamed)
	f("callback=f+g", "", Misnamed)
	f("callback=f=g", "", Misnamed)
	f("callback=eval(1)//", "", Misnamed)
	f("Callback=f", "", NotAsked)
	f("callbacks=f", "", NotAsked)
	f("xcallback=f", "", NotAsked)
	f("callbac=f", "", NotAsked)
	f("a=callback=f", "", NotAsked)
	f("callback="+strings.Repeat("a", 255), strings.Repeat("a", 255), Named)
	f("callback="+strings.Repeat("%61", 255), strings.Repeat("a", 255), Named)
	f("callback="+strings.Repeat("a", 256), "", Misnamed)
	f("callback="+strings.Repeat("%61", 256), "", Misnamed)

	f = func(query, name string, asked Asked) { t.Helper(); check(legacy, query, name, asked) }
	f("callback=f", "f", Named)
	f("callback=1a", "1a", Named)
	f("callback=if", "if", Named)
	f("callback=%61b", "", Misnamed)
	f("%63allback=f", "", NotAsked)
	f("Callback=f", "", NotAsked)
	f("callback=a.b", "", Misnamed)
	f("callback=$", "", Misnamed)
	f("callback=", "", NotAsked)
	f("callback=f&callback=g", "g", Named)
	f("callback=&callback=g", "g", Named)
	f("callback=f&callback=", "", NotAsked)
	f("callback=a.b&callback=g", "", Misnamed)
	f("callback=f&callback=a.b", "", Misnamed)
	f("callback="+strings.Repeat("a", 255), strings.Repeat("a", 255), Named)
	f("callback="+strings.Repeat("a", 256), "", Misnamed)
}

// Whatever is asked for, a buffer of MostName bytes is enough.
func TestNameStaysInItsBuffer(t *testing.T) {
	room := make([]byte, MostName, MostName+1)
	for _, m := range []Mode{Dotted, Strict, Legacy} {
		f := with(t, m, nil)
		for _, query := range []string{
			"callback=" + strings.Repeat("a", 5000), "callback=" + strings.Repeat("%61", 256),
			"callback=" + strings.Repeat("a", 255) + "&callback=" + strings.Repeat("b", 255),
		} {
			clear(room[:cap(room)])
			got, _ := f.Name(room[:0], []byte(query))
			if cap(got) != cap(room) || room[:cap(room)][MostName] != 0 {
				t.Errorf("%s: %.20q: it is left", m, query)
			}
		}
	}
}

func TestAllowedNames(t *testing.T) {
	f := with(t, Dotted, func(c *Config) { c.Names = []string{"jQuery", "angular.callbacks._"} })
	for query, want := range map[string]Asked{
		"callback=jQuery123":            Named,
		"callback=jQuery":               Named,
		"callback=angular.callbacks._7": Named,
		"callback=angular.callbacks":    Misnamed,
		"callback=alert":                Misnamed,
		"callback=jQuery[":              Misnamed,
		"callback=":                     NotAsked,
	} {
		if _, got := f.Name(nil, []byte(query)); got != want {
			t.Errorf("%s: got %d", query, got)
		}
	}
}

func TestStrip(t *testing.T) {
	filter := with(t, Dotted, func(c *Config) { c.Aliases, c.Strip = []string{"jsonp"}, []string{"_", "rnd"} })
	f := func(query, want string) {
		t.Helper()
		if got := string(filter.Strip([]byte("/x?"), []byte(query))); got != "/x?"+want {
			t.Errorf("%q: got %q", query, got)
		}
		if got := filter.Strips([]byte(query)); got != (query != want) {
			t.Errorf("%q: Strips says %v", query, got)
		}
	}
	f("", "")
	f("a", "a")
	f("b=2&a=1&b=%32&&c", "b=2&a=1&b=%32&&c")
	f("callback=f", "")
	f("callback=f&a=1", "a=1")
	f("a=1&callback=f", "a=1")
	f("a=1&callback=f&b=%20", "a=1&b=%20")
	f("a=1&jsonp=f&_=123&b&rnd", "a=1&b")
	f("callback=f&callback=g&a&callback", "a")
	f("c%61llback=f&a", "a")
	f("callback=%zz&a", "a")
	f("&a", "&a")
	f("callback=f&", "")
	f("callback=f&&a", "&a")
	f("&callback=f&a", "&a")
	f("Callback=f&__=1", "Callback=f&__=1")

	if got := with(t, Legacy, nil).Strip(nil, []byte("c%61llback=f&callback=g")); string(got) != "c%61llback=f" {
		t.Errorf("legacy: got %q", got)
	}
	if got := with(t, Dotted, nil).Strip(nil, []byte("_=1&callback=g")); string(got) != "_=1" {
		t.Errorf("what is not declared: got %q", got)
	}
}

// askedSlowly is Name of a dotted filter by what net/url says.
func askedSlowly(query string, params []string) (name string, asked Asked) {
	var values []string
	for arg := range strings.SplitSeq(query, "&") {
		key, value, _ := strings.Cut(arg, "=")
		if k, err := url.QueryUnescape(key); err != nil || !slices.Contains(params, k) {
			continue
		}
		v, err := url.QueryUnescape(value)
		if err != nil {
			return "", Misnamed
		}
		if len(values) > 0 && v != values[0] {
			return "", Misnamed
		}
		values = append(values, v)
	}
	switch {
	case len(values) == 0 || values[0] == "":
		return "", NotAsked
	case !validSlowly(Dotted, values[0]):
		return "", Misnamed
	}
	return values[0], Named
}

// FuzzQuery holds Name against net/url, and checks what must hold of Strip: what stays
// is a part of the query, names no callback and stays as it is when stripped again.
func FuzzQuery(f *testing.F) {
	for _, q := range []string{"callback=f", "a&jsonp=a%2eb&_=1", "callback=f&callback=%66", "callback=%f&callback", "&&", "%63allback=x", "callback=a+b"} {
		f.Add(q)
	}
	filter := with(f, Dotted, func(c *Config) { c.Aliases, c.Strip = []string{"jsonp"}, []string{"_"} })
	legacy := with(f, Legacy, nil)
	f.Fuzz(func(t *testing.T, query string) {
		name, asked := filter.Name(nil, []byte(query))
		wantName, want := askedSlowly(query, filter.params)
		if asked != want || asked == Named && string(name) != wantName {
			t.Errorf("got %q, %d, want %q, %d", name, asked, wantName, want)
		}
		for _, filter := range []*Filter{filter, legacy} {
			left := filter.Strip(nil, []byte(query))
			if _, asked := filter.Name(nil, left); asked != NotAsked || filter.Strips(left) {
				t.Errorf("stripped to %q", left)
			}
			if again := filter.Strip(nil, left); string(again) != string(left) {
				t.Errorf("%q stripped to %q", left, again)
			}
			if !filter.Strips([]byte(query)) && string(left) != query {
				t.Errorf("changed to %q", left)
			}
		}
		var kept []string
		for arg := range strings.SplitSeq(query, "&") {
			key, _, _ := strings.Cut(arg, "=")
			if k, err := url.QueryUnescape(key); err == nil && arg != "" && slices.Contains(filter.strip, k) {
				continue
			}
			kept = append(kept, arg)
		}
		if got := filter.Strip(nil, []byte(query)); string(got) != strings.Join(kept, "&") {
			t.Errorf("stripped to %q, want %q", got, kept)
		}
	})
}
