package jsonp

import (
	"fmt"
	"strings"

	"github.com/kasoku/kasoku/internal/ascii"
)

// Mistake is an error in one field of a Config.
type Mistake struct {
	// Field is the field's name in a configuration.
	Field string
	// Index is the element's index; -1: the field as a whole.
	Index int
	// Text is a sentence without its full stop.
	Text string
}

// Error returns the field and the mistake.
func (m *Mistake) Error() string { return "jsonp: " + m.Field + ": " + m.Text }

type mistakes []*Mistake

func (m *mistakes) add(field string, index int, format string, args ...any) {
	*m = append(*m, &Mistake{Field: field, Index: index, Text: fmt.Sprintf(format, args...)})
}

const maxPrefix = 256

// Mistakes returns the mistakes in a Config. New accepts one that has none.
func (c *Config) Mistakes() []*Mistake {
	var m mistakes
	if c.Mode > Legacy || c.Invalid > Pass || c.Type > Unchanged || c.Errors > AsIs {
		m.add("mode", -1, "unknown mode, type or treatment of invalid names or errors")
		return m
	}
	c.checkArguments(&m)
	for i, t := range c.Types {
		if !isMediaType(t) {
			m.add("types", i, "%q is not a media type without parameters, for example text/javascript", t)
		}
	}
	for i, n := range c.Names {
		if n == "" || !c.Mode.validPrefix(n) {
			m.add("names", i, "%q begins no callback in mode %s", n, c.Mode)
		}
	}
	if len(c.Prefix) > maxPrefix || strings.ContainsFunc(c.Prefix, func(r rune) bool { return r < ' ' || r > '~' }) {
		m.add("prefix", -1, "want at most %d printable ASCII characters", maxPrefix)
	}
	if c.Mode == Legacy {
		c.checkLegacy(&m)
	} else if c.Type == Unchanged {
		m.add("content_type", -1, "browsers don't run application/json as a script; only mode legacy keeps the type")
	}
	return m
}

// checkArguments requires one meaning for each argument of the query, and names that can be
// compared with the names in requests.
func (c *Config) checkArguments(m *mistakes) {
	seen := map[string]string{}
	add := func(field string, index int, name string) {
		if name == "" || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune(`&=%+#?;`, r) }) {
			m.add(field, index, "%q is not a valid name of an argument: want printable ASCII without any of &=%%+#?;", name)
			return
		}
		if other, twice := seen[name]; twice {
			m.add(field, index, "%q is already used in %s", name, other)
			return
		}
		seen[name] = field
	}
	add("param", -1, c.Param)
	for i, name := range c.Aliases {
		add("aliases", i, name)
	}
	for i, name := range c.Strip {
		add("strip", i, name)
	}
}

// checkLegacy refuses settings that have no effect: legacy answers keep their old bytes.
func (c *Config) checkLegacy(m *mistakes) {
	refuse := func(field string, given bool, why string) {
		if given {
			m.add(field, -1, "mode legacy %s", why)
		}
	}
	const bytes, header = "keeps the bytes of the old answers, which had no such option", "keeps the header"
	refuse("invalid", c.Invalid != Pass, "passes requests without a valid name")
	refuse("prefix", c.Prefix != "", bytes)
	refuse("guard", c.Guard, bytes)
	refuse("newline", c.Newline, bytes)
	refuse("content_type", c.Type != Unchanged, header)
	refuse("attachment", c.Attachment, header)
	refuse("cross_origin", c.CrossOrigin, header)
	refuse("cdn_no_store", c.CDNNoStore, header)
	refuse("errors", c.Errors != OnlySuccess, "wraps only 200")
	refuse("types", len(c.Types) == 0, "wraps only the types named here")
}

func isMediaType(t string) bool {
	major, minor, ok := strings.Cut(t, "/")
	return ok && ascii.IsToken(major) && ascii.IsToken(minor)
}
