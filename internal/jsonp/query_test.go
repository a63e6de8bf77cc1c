package jsonp

import (
	"net/url"
	"slices"
	"strings"
	"testing"
)

func TestName(t *testing.T) {
	dotted := with(t, Dotted, func(c *Config) { c.Aliases = []string{"jsonp", "jsoncallback"} })
	legacy := with(t, Legacy, nil)
	check := func(f *Filter, query, name string, status NameStatus) {
		t.Helper()
		dst := []byte("kept ")
		got, a := f.Name(dst, []byte(query))
		if a != status || a == NameValid && string(got) != "kept "+name || !strings.HasPrefix(string(got), "kept ") {
			t.Errorf("%s: %q: got %q, %d; want %q, %d", f.cfg.Mode, query, got, a, name, status)
		}
	}
	f := func(query, name string, status NameStatus) { t.Helper(); check(dotted, query, name, status) }
	f("", "", NameAbsent)
	f("a=1", "", NameAbsent)
	f("callback=f", "f", NameValid)
	f("a=1&callback=f&b", "f", NameValid)
	f("&&callback=f&", "f", NameValid)
	f("jsonp=f", "f", NameValid)
	f("jsoncallback=f", "f", NameValid)
	f("callback=a%2Eb", "a.b", NameValid)
	f("callback=a%2eb", "a.b", NameValid)
	f("callback=%61b", "ab", NameValid)
	f("%63allback=f", "f", NameValid)
	f("callback=CKEDITOR._.jsonpCallbacks%5B197%5D", "CKEDITOR._.jsonpCallbacks[197]", NameValid)
	f("callback=CKEDITOR._.jsonpCallbacks[197]", "CKEDITOR._.jsonpCallbacks[197]", NameValid)
	f("callback=a%252Eb", "", NameInvalid) // decoded once
	f("callback", "", NameAbsent)
	f("callback=", "", NameAbsent)
	f("callback=&callback=", "", NameAbsent)
	f("callback=f&callback=f", "f", NameValid)
	f("callback=f&jsonp=%66", "f", NameValid)
	f("callback=f&callback=g", "", NameInvalid)
	f("callback=f&callback=fg", "", NameInvalid)
	f("callback=fg&callback=f", "", NameInvalid)
	f("callback=f&jsonp=g", "", NameInvalid)
	f("callback=f&callback=", "", NameInvalid)
	f("callback=&callback=f", "", NameInvalid)
	f("callback=f&callback=%", "", NameInvalid)
	f("callback=1a", "", NameInvalid)
	f("callback=f%", "", NameInvalid)
	f("callback=f%6", "", NameInvalid)
	f("callback=f%6g", "", NameInvalid)
	f("callback=f%00", "", NameInvalid)
	f("callback=f+g", "", NameInvalid)
	f("callback=f=g", "", NameInvalid)
	f("callback=eval(1)//", "", NameInvalid)
	f("Callback=f", "", NameAbsent)
	f("callbacks=f", "", NameAbsent)
	f("xcallback=f", "", NameAbsent)
	f("callbac=f", "", NameAbsent)
	f("a=callback=f", "", NameAbsent)
	f("callback="+strings.Repeat("a", 255), strings.Repeat("a", 255), NameValid)
	f("callback="+strings.Repeat("%61", 255), strings.Repeat("a", 255), NameValid)
	f("callback="+strings.Repeat("a", 256), "", NameInvalid)
	f("callback="+strings.Repeat("%61", 256), "", NameInvalid)

	f = func(query, name string, status NameStatus) { t.Helper(); check(legacy, query, name, status) }
	f("callback=f", "f", NameValid)
	f("callback=1a", "1a", NameValid)
	f("callback=if", "if", NameValid)
	f("callback=%61b", "", NameInvalid)
	f("%63allback=f", "", NameAbsent)
	f("Callback=f", "", NameAbsent)
	f("callback=a.b", "", NameInvalid)
	f("callback=$", "", NameInvalid)
	f("callback=", "", NameAbsent)
	f("callback=f&callback=g", "g", NameValid)
	f("callback=&callback=g", "g", NameValid)
	f("callback=f&callback=", "", NameAbsent)
	f("callback=a.b&callback=g", "", NameInvalid)
	f("callback=f&callback=a.b", "", NameInvalid)
	f("callback="+strings.Repeat("a", 255), strings.Repeat("a", 255), NameValid)
	f("callback="+strings.Repeat("a", 256), "", NameInvalid)
}

// A buffer of MaxName bytes is enough for any query.
func TestNameFitsItsBuffer(t *testing.T) {
	room := make([]byte, MaxName, MaxName+1)
	for _, m := range []Mode{Dotted, Strict, Legacy} {
		f := with(t, m, nil)
		for _, query := range []string{
			"callback=" + strings.Repeat("a", 5000), "callback=" + strings.Repeat("%61", 256),
			"callback=" + strings.Repeat("a", 255) + "&callback=" + strings.Repeat("b", 255),
		} {
			clear(room[:cap(room)])
			got, _ := f.Name(room[:0], []byte(query))
			if cap(got) != cap(room) || room[:cap(room)][MaxName] != 0 {
				t.Errorf("%s: %.20q: the name was written past the buffer or to another one", m, query)
			}
		}
	}
}

func TestAllowedNames(t *testing.T) {
	f := with(t, Dotted, func(c *Config) { c.Names = []string{"jQuery", "angular.callbacks._"} })
	for query, want := range map[string]NameStatus{
		"callback=jQuery123":            NameValid,
		"callback=jQuery":               NameValid,
		"callback=angular.callbacks._7": NameValid,
		"callback=angular.callbacks":    NameInvalid,
		"callback=alert":                NameInvalid,
		"callback=jQuery[":              NameInvalid,
		"callback=":                     NameAbsent,
	} {
		if _, got := f.Name(nil, []byte(query)); got != want {
			t.Errorf("%s: got %d, want %d", query, got, want)
		}
	}
}

func TestStrip(t *testing.T) {
	filter := with(t, Dotted, func(c *Config) { c.Aliases, c.Strip = []string{"jsonp"}, []string{"_", "rnd"} })
	f := func(query, want string) {
		t.Helper()
		if got := string(filter.Strip([]byte("/x?"), []byte(query))); got != "/x?"+want {
			t.Errorf("%q: got %q, want %q", query, got, "/x?"+want)
		}
		if got := filter.Strips([]byte(query)); got != (query != want) {
			t.Errorf("%q: Strips returned %v", query, got)
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
		t.Errorf("an argument that is not configured: got %q", got)
	}
}

// nameByURL is Name of a dotted filter, by net/url.
func nameByURL(query string, params []string) (name string, status NameStatus) {
	var values []string
	for arg := range strings.SplitSeq(query, "&") {
		key, value, _ := strings.Cut(arg, "=")
		if k, err := url.QueryUnescape(key); err != nil || !slices.Contains(params, k) {
			continue
		}
		v, err := url.QueryUnescape(value)
		if err != nil {
			return "", NameInvalid
		}
		if len(values) > 0 && v != values[0] {
			return "", NameInvalid
		}
		values = append(values, v)
	}
	switch {
	case len(values) == 0 || values[0] == "":
		return "", NameAbsent
	case !validByGrammar(Dotted, values[0]):
		return "", NameInvalid
	}
	return values[0], NameValid
}

// FuzzQuery compares Name with net/url, and checks Strip: its result is a part of the query,
// has no callback and does not change when it is stripped again.
func FuzzQuery(f *testing.F) {
	for _, q := range []string{"callback=f", "a&jsonp=a%2eb&_=1", "callback=f&callback=%66", "callback=%f&callback", "&&", "%63allback=x", "callback=a+b"} {
		f.Add(q)
	}
	filter := with(f, Dotted, func(c *Config) { c.Aliases, c.Strip = []string{"jsonp"}, []string{"_"} })
	legacy := with(f, Legacy, nil)
	f.Fuzz(func(t *testing.T, query string) {
		name, status := filter.Name(nil, []byte(query))
		wantName, want := nameByURL(query, filter.params)
		if status != want || status == NameValid && string(name) != wantName {
			t.Errorf("got %q, %d, want %q, %d", name, status, wantName, want)
		}
		for _, filter := range []*Filter{filter, legacy} {
			left := filter.Strip(nil, []byte(query))
			if _, status := filter.Name(nil, left); status != NameAbsent || filter.Strips(left) {
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
