package jsonp

import (
	"fmt"
	"strings"

	"github.com/kasoku/kasoku/internal/ascii"
)

// Mistake is what is wrong with one field of a Config.
type Mistake struct {
	// Field is what a configuration calls it.
	Field string
	// Index is which element of it; -1: it as a whole.
	Index int
	// Text is a sentence without its end.
	Text string
}

// Error names the field and what is wrong with it.
func (m *Mistake) Error() string { return "jsonp: " + m.Field + ": " + m.Text }

type mistakes []*Mistake

func (m *mistakes) add(field string, index int, format string, args ...any) {
	*m = append(*m, &Mistake{Field: field, Index: index, Text: fmt.Sprintf(format, args...)})
}

const maxPrefix = 256

// Mistakes lists what is wrong with a Config; what New takes has none.
func (c *Config) Mistakes() []*Mistake {
	var m mistakes
	if c.Mode > Legacy || c.Invalid > Pass || c.Type > Unchanged || c.Errors > AsIs {
		m.add("mode", -1, "a mode, a type or a treatment of names or errors is none of the known ones")
		return m
	}
	c.checkArguments(&m)
	for i, t := range c.Types {
		if !isMediaType(t) {
			m.add("types", i, "%q is no media type such as text/javascript, without parameters", t)
		}
	}
	for i, n := range c.Names {
		if n == "" || !c.Mode.validPrefix(n) {
			m.add("names", i, "%q begins no callback's name in mode %s", n, c.Mode)
		}
	}
	if len(c.Prefix) > maxPrefix || strings.ContainsFunc(c.Prefix, func(r rune) bool { return r < ' ' || r > '~' }) {
		m.add("prefix", -1, "want at most %d printable ASCII characters", maxPrefix)
	}
	if c.Mode == Legacy {
		c.checkLegacy(&m)
	} else if c.Type == Unchanged {
		m.add("content_type", -1, "browsers don't run application/json as a script; only mode legacy leaves the type")
	}
	return m
}

// checkArguments wants each argument of the query to have one meaning, and a name that
// can be compared with what clients send.
func (c *Config) checkArguments(m *mistakes) {
	seen := map[string]string{}
	take := func(field string, index int, name string) {
		if name == "" || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune(`&=%+#?;`, r) }) {
			m.add(field, index, "%q is not what an argument is called: want printable ASCII without any of &=%%+#?;", name)
			return
		}
		if other, twice := seen[name]; twice {
			m.add(field, index, "%q is named already, in %s", name, other)
			return
		}
		seen[name] = field
	}
	take("param", -1, c.Param)
	for i, name := range c.Aliases {
		take("aliases", i, name)
	}
	for i, name := range c.Strip {
		take("strip", i, name)
	}
}

// checkLegacy refuses what has no effect: answers are to be the old ones, byte by byte.
func (c *Config) checkLegacy(m *mistakes) {
	refuse := func(field string, given bool, why string) {
		if given {
			m.add(field, -1, "mode legacy %s", why)
		}
	}
	const bytes, header = "has the old answers, byte by byte: there was no such thing", "leaves the header as it is"
	refuse("invalid", c.Invalid != Pass, "passes what has no valid name")
	refuse("prefix", c.Prefix != "", bytes)
	refuse("guard", c.Guard, bytes)
	refuse("newline", c.Newline, bytes)
	refuse("content_type", c.Type != Unchanged, header)
	refuse("attachment", c.Attachment, header)
	refuse("cross_origin", c.CrossOrigin, header)
	refuse("cdn_no_store", c.CDNNoStore, header)
	refuse("errors", c.Errors != OnlySuccess, "wraps only 200")
	refuse("types", len(c.Types) == 0, "wraps only what is named here")
}

func isMediaType(t string) bool {
	major, minor, ok := strings.Cut(t, "/")
	return ok && ascii.IsToken(major) && ascii.IsToken(minor)
}
