package policy

import (
	"bytes"

	"github.com/kasoku/kasoku/internal/ascii"
)

// SurrogateControl is the targeted field of the Edge Architecture note (W3C, 2001), in lower
// case. It predates RFC 9213 and has its own syntax.
const SurrogateControl = "surrogate-control"

// parseSurrogate parses Surrogate-Control: directives as in Cache-Control, with max-age=A+B
// as a lifetime of A seconds and B more seconds of stale use. A directive with a parameter
// is for another surrogate, by name; "content" concerns processing that is not done here,
// and "no-store-remote" surrogates far from the origin. A field with only such directives is
// ignored. Restrictive directives after an unclosed quote are applied, whichever surrogate
// they are for.
func parseSurrogate(text []byte) (c control, ok bool) {
	c = control{sharedAge: none, maxAge: none, swr: none, sie: none}
	extension := int64(none)
	for len(text) > 0 {
		var member []byte
		member, text = cutMember(text)
		d, ok := parseDirective(member)
		if openQuote(member) != nil {
			c.malformed(d.name)
			c.unclosed(member)
		}
		switch {
		case !ok, d.kind == unusable && bytes.IndexByte(d.arg, ';') >= 0:
			continue
		case d.kind == token && ascii.EqualFold(d.name, "max-age"):
			var more []byte
			d.arg, more, _ = bytes.Cut(d.arg, []byte{'+'})
			if n, ok := seconds(more, false); ok && c.maxAge == none {
				extension = n
			}
		}
		c.directive(&d)
	}
	if extension != none {
		first(&c.swr, extension, true)
		first(&c.sie, extension, true)
	}
	return c, c.flags != 0 || len(c.hidden) > 0 || max(c.sharedAge, c.maxAge, c.swr, c.sie) != none
}
