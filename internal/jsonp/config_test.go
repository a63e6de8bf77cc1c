package jsonp

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestRefusesConfigs(t *testing.T) {
	f := func(m Mode, want string, set func(*Config)) {
		t.Helper()
		cfg := Defaults(m)
		set(&cfg)
		_, err := New(cfg)
		if err == nil || !strings.HasPrefix(err.Error(), "jsonp: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("got the error %v, want one with %q", err, want)
		}
	}
	f(Dotted, `param: "" is not`, func(c *Config) { c.Param = "" })
	f(Dotted, `param: "a&b" is not`, func(c *Config) { c.Param = "a&b" })
	f(Dotted, `aliases: "a b" is not`, func(c *Config) { c.Aliases = []string{"a b"} })
	f(Dotted, `strip: "é" is not`, func(c *Config) { c.Strip = []string{"é"} })
	f(Dotted, `aliases: "callback" is already used in param`, func(c *Config) { c.Aliases = []string{"callback"} })
	f(Dotted, `strip: "x" is already used in aliases`, func(c *Config) { c.Aliases, c.Strip = []string{"x"}, []string{"x"} })
	f(Dotted, `types: "json"`, func(c *Config) { c.Types = []string{"json"} })
	f(Dotted, `types: "text/x; charset=utf-8"`, func(c *Config) { c.Types = []string{"text/x; charset=utf-8"} })
	f(Dotted, `names: ""`, func(c *Config) { c.Names = []string{""} })
	f(Strict, `names: "a.b"`, func(c *Config) { c.Names = []string{"a.b"} })
	f(Dotted, `names: "é"`, func(c *Config) { c.Names = []string{"é"} })
	f(Legacy, `names: "$"`, func(c *Config) { c.Names = []string{"$"} })
	f(Dotted, "prefix:", func(c *Config) { c.Prefix = "//\n" })
	f(Dotted, "prefix:", func(c *Config) { c.Prefix = strings.Repeat("/", 257) })
	f(Dotted, "content_type:", func(c *Config) { c.Type = Unchanged })
	f(Dotted, "unknown mode, type", func(c *Config) { c.Mode = 3 })
	f(Dotted, "unknown mode, type", func(c *Config) { c.Invalid = 2 })
	f(Dotted, "unknown mode, type", func(c *Config) { c.Type = 3 })
	f(Dotted, "unknown mode, type", func(c *Config) { c.Errors = 3 })
	f(Legacy, "invalid:", func(c *Config) { c.Invalid = Refuse })
	f(Legacy, "prefix: mode legacy", func(c *Config) { c.Prefix = "/**/" })
	f(Legacy, "guard: mode legacy", func(c *Config) { c.Guard = true })
	f(Legacy, "newline: mode legacy", func(c *Config) { c.Newline = true })
	f(Legacy, "content_type: mode legacy", func(c *Config) { c.Type = Text })
	f(Legacy, "attachment: mode legacy", func(c *Config) { c.Attachment = true })
	f(Legacy, "cross_origin: mode legacy", func(c *Config) { c.CrossOrigin = true })
	f(Legacy, "cdn_no_store: mode legacy", func(c *Config) { c.CDNNoStore = true })
	f(Legacy, "errors: mode legacy", func(c *Config) { c.Errors = AsIs })
	f(Legacy, "types:", func(c *Config) { c.Types = nil })
}

func TestAllMistakesAreReported(t *testing.T) {
	cfg := Defaults(Legacy)
	cfg.Param, cfg.Aliases, cfg.Names, cfg.Prefix, cfg.Guard = "", []string{"a", "a"}, []string{"ok", "$"}, "x", true
	var got []string
	for _, m := range cfg.Mistakes() {
		got = append(got, fmt.Sprint(m.Field, m.Index))
	}
	if want := []string{"param-1", "aliases1", "names1", "prefix-1", "guard-1"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// A filter does not change when the slices of its configuration change.
func TestConfigIsCopied(t *testing.T) {
	cfg := Defaults(Dotted)
	cfg.Types, cfg.Names, cfg.Strip = []string{"Text/X"}, []string{"a"}, []string{"_"}
	f, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Types[0], cfg.Names[0], cfg.Strip[0] = "b/b", "b", "b"
	if _, status := f.Name(nil, []byte("callback=ab")); status != NameValid || !f.Strips([]byte("_")) || !f.Wraps([]byte("text/x")) {
		t.Error("the filter has changed")
	}
}

func TestFields(t *testing.T) {
	lines := func(f *Filter, why Reason, status int) string {
		c := f.Call([]byte("f"), why, status)
		return string(c.AppendLines([]byte("A: b\r\n")))
	}
	const nosniff = "X-Content-Type-Options: nosniff\r\nAccept-Ranges: none\r\n"
	f := func(got, want string) {
		t.Helper()
		if got != "A: b\r\n"+want {
			t.Errorf("got %q, want %q", got, "A: b\r\n"+want)
		}
	}
	f(lines(with(t, Dotted, nil), Wrapped, 200), "Content-Type: application/javascript; charset=utf-8\r\n"+nosniff)
	f(lines(with(t, Strict, func(c *Config) { c.Type, c.Attachment, c.CrossOrigin = Text, true, true }), Wrapped, 200),
		"Content-Type: text/javascript; charset=utf-8\r\n"+nosniff+
			"Content-Disposition: attachment; filename=f.txt\r\nCross-Origin-Resource-Policy: cross-origin\r\n")
	f(lines(with(t, Dotted, func(c *Config) { c.CDNNoStore = true }), Wrapped, 200),
		"Content-Type: application/javascript; charset=utf-8\r\n"+nosniff+"CDN-Cache-Control: no-store\r\nSurrogate-Control: no-store\r\n")
	f(lines(with(t, Dotted, func(c *Config) { c.Errors = Envelope }), Enveloped, 404),
		"Content-Type: application/javascript; charset=utf-8\r\n"+nosniff+"X-Status: 404\r\n")
	f(lines(with(t, Legacy, nil), Wrapped, 200), "")
}

func TestDrops(t *testing.T) {
	f := func(filter *Filter, want bool, names ...string) {
		t.Helper()
		for _, name := range names {
			if filter.Drops([]byte(name)) != want {
				t.Errorf("%s is dropped: got %v, want %v", name, !want, want)
			}
		}
	}
	bytes := []string{"Content-Length", "content-encoding", "Content-Range", "Accept-Ranges", "ETag", "Last-Modified", "Content-MD5", "Digest", "Content-Digest", "Repr-Digest", "x-amz-crc32"}
	kept := []string{"Cache-Control", "Vary", "Age", "Expires", "X-Other", "Access-Control-Allow-Origin"}
	dotted := with(t, Dotted, nil)
	f(dotted, true, append(bytes, "Set-Cookie", "SET-COOKIE", "Content-Type", "X-Content-Type-Options")...)
	f(dotted, false, append(kept, "Content-Disposition", "Cross-Origin-Resource-Policy", "X-Status", "CDN-Cache-Control", "Surrogate-Control")...)
	f(with(t, Dotted, func(c *Config) { c.Attachment, c.CrossOrigin, c.CDNNoStore, c.Errors = true, true, true, Envelope }), true,
		"Content-Disposition", "Cross-Origin-Resource-Policy", "X-Status", "CDN-Cache-Control", "surrogate-control")
	legacy := with(t, Legacy, nil)
	f(legacy, true, bytes...)
	f(legacy, false, append(kept, "Content-Type", "Set-Cookie", "X-Content-Type-Options")...)
}
