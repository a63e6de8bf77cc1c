package jsonp

import (
	"regexp"
	"strings"
	"testing"
)

func tagOf(f *Filter, name string, why Reason, status int, base string) string {
	c := f.Call([]byte(name), why, status)
	return string(c.AppendETag(nil, []byte(base)))
}

func TestETag(t *testing.T) {
	dotted := with(t, Dotted, nil)
	f := func(base, want string) {
		t.Helper()
		if got := tagOf(dotted, "f", Wrapped, 200, base); !regexp.MustCompile(`\A` + want + `\z`).MatchString(got) {
			t.Errorf("%s: got %s, want a match of %s", base, got, want)
		}
	}
	f(`"abc"`, `"abc;jp-[0-9a-z]{1,13}"`)
	f(`W/"abc"`, `W/"abc;jp-[0-9a-z]{1,13}"`)
	f(`""`, `";jp-[0-9a-z]{1,13}"`)
	f("", "")
	f("abc", "")
	f(`"abc`, "")
	f(`"abc"x`, "")
	f(`w/"abc"`, "")
	f(`"a b"`, "")
	f(`W/`, "")
	f(`"`, "")
}

// Answers that are wrapped differently have different tags.
func TestETagsDiffer(t *testing.T) {
	tags := map[string]int{}
	n := 0
	add := func(tag string) {
		t.Helper()
		if other, twice := tags[tag]; twice {
			t.Errorf("cases %d and %d have the same tag: %s", n, other, tag)
		}
		tags[tag] = n
		n++
	}
	add(`"abc"`)
	sets := []func(*Config){
		nil,
		func(c *Config) { c.Prefix = "" },
		func(c *Config) { c.Prefix = "/* CouchDB */" },
		func(c *Config) { c.Guard = true },
		func(c *Config) { c.Newline = true },
		func(c *Config) { c.Type = Text },
		func(c *Config) { c.Attachment = true },
	}
	for _, set := range sets {
		f := with(t, Dotted, set)
		for _, name := range []string{"f", "g", "ff", "a.b"} {
			add(tagOf(f, name, Wrapped, 200, `"abc"`))
			add(tagOf(f, name, Wrapped, 200, `"abd"`))
			add(tagOf(f, name, Enveloped, 404, `"abc"`))
			add(tagOf(f, name, Enveloped, 500, `"abc"`))
		}
	}
	add(tagOf(with(t, Legacy, nil), "f", Wrapped, 200, `"abc"`))
	if got := tagOf(with(t, Dotted, nil), "f", Wrapped, 201, `"abc"`); tags[got] == 0 {
		t.Error("the tag depends on the status without an envelope")
	}
}

// Tags are the same in every process, as nodes behind one address must agree about them.
func TestETagIsStable(t *testing.T) {
	if got, want := tagOf(with(t, Dotted, nil), "f", Wrapped, 200, `"abc"`), `"abc;jp-16qyggy0j5cw"`; got != want {
		t.Errorf("got %s, want %s; an intended change has to change layout too", got, want)
	}
}

func TestNotModified(t *testing.T) {
	filter := with(t, Dotted, nil)
	c := filter.Call([]byte("f"), Wrapped, 200)
	own := tagOf(filter, "f", Wrapped, 200, `"abc"`)
	f := func(base, line string, want bool) {
		t.Helper()
		if got := c.NotModified([]byte(line), []byte(base)); got != want {
			t.Errorf("If-None-Match %s, stored %s: not modified %v, want %v", line, base, got, want)
		}
	}
	f(`"abc"`, own, true)
	f(`"abc"`, "W/"+own, true)
	f(`W/"abc"`, own, true)
	f(`W/"abc"`, "W/"+own, true)
	f(`"abc"`, `"x", `+own, true)
	f(`"abc"`, own+` , "x"`, true)
	f(`"abc"`, `,,"x",W/"y",`+own+`,`, true)
	f(`"abc"`, `garbage, `+own, true)
	f(`"abc"`, `"x"garbage, `+own, true)
	f(`"abc"`, ` * `, true)
	f("", "*", true)
	f(`"abc"`, "", false)
	f(`"abc"`, ",", false)
	f(`"abc"`, `"abc"`, false)
	f(`"abc"`, `W/"abc"`, false)
	f(`"abd"`, own, false)
	f(`"ab"`, own, false)
	f("", own, false)
	f("abc", own, false)
	f(`"abc"`, strings.Trim(own, `"`), false)
	f(`"abc"`, own+"x", false)
	f(`"abc"`, own[:len(own)-1], false)
	f(`"abc"`, tagOf(filter, "g", Wrapped, 200, `"abc"`), false)
	f(`"abc"`, `"unended, `+own, true)
}

// FuzzNotModified checks that the tag is found in any list that has it, and no other tag is.
func FuzzNotModified(f *testing.F) {
	filter := with(f, Dotted, nil)
	c := filter.Call([]byte("f"), Wrapped, 200)
	f.Add(`"abc"`, ``)
	f.Add(`W/"abc"`, `"x", W/"y",z`)
	f.Add(`""`, ` , "`)
	f.Add(`x`, `*`)
	wellFormed := regexp.MustCompile(`\A(?:W/)?"[!#-~\x80-\xff]*"\z`)
	f.Fuzz(func(t *testing.T, base, others string) {
		tag := string(c.AppendETag(nil, []byte(base)))
		if (tag != "") != wellFormed.MatchString(latin1(base)) {
			t.Fatalf("%q: got %q", base, tag)
		}
		if got := c.NotModified([]byte(others), []byte(base)); got && strings.Trim(others, " \t,") != "*" && (tag == "" || !strings.Contains(others, strings.TrimPrefix(tag, "W/"))) {
			t.Errorf("%q, stored %q: got %v", others, base, got)
		}
		if tag == "" || strings.Contains(others, `"`) {
			return
		}
		for _, line := range []string{tag, others + "," + tag, tag + " , " + others, others + ", " + tag + "\t," + others} {
			if !c.NotModified([]byte(line), []byte(base)) {
				t.Errorf("%q, stored %q: the tag was not found", line, base)
			}
		}
	})
}

// latin1 converts each byte to a character, for regexp.
func latin1(s string) string {
	r := make([]rune, len(s))
	for i := range len(s) {
		r[i] = rune(s[i])
	}
	return string(r)
}
