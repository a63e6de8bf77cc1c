package nginximport

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/kasoku/kasoku/internal/lazyregexp"
	"github.com/kasoku/kasoku/internal/nginxconf"
)

// route is the configuration of a location's paths.
type route struct {
	paths    []string
	captured map[string]string // nginx's variable -> name of the capture
}

// route translates a location's arguments. It fails, after noting the reason, if the paths
// can't be expressed.
func (t *translator) route(d *nginxconf.Directive) (route, bool) {
	sign, text := "", d.Arg(0)
	if len(d.Args) > 1 {
		sign, text = d.Arg(0), d.Arg(1)
	} else if i := strings.IndexByte("=~", first(text)); i >= 0 && len(text) > 1 {
		sign, text = text[:1], text[1:] // =/count, ~^/count
		if strings.HasPrefix(text, "*") && sign == "~" {
			sign, text = "~*", text[1:]
		}
	}
	switch sign {
	case "=":
		return t.plainPath(d, text, false)
	case "", "^~":
		return t.plainPath(d, text, true)
	case "~", "~*":
		if sign == "~*" {
			t.note(d.Line, "location ~* %s: paths are compared with upper and lower case distinguished", text)
		}
		return t.pattern(d, text)
	}
	t.note(d.Line, "location %s: %q is not understood", strings.Join(d.Args, " "), sign)
	return route{}, false
}

func first(s string) byte {
	if s == "" {
		return 0
	}
	return s[0]
}

func (t *translator) plainPath(d *nginxconf.Directive, text string, prefix bool) (route, bool) {
	if !strings.HasPrefix(text, "/") || strings.ContainsAny(text, "{}") {
		t.note(d.Line, "location %s: paths begin with / and have no braces", text)
		return route{}, false
	}
	path := (&url.URL{Path: text}).EscapedPath()
	switch {
	case !prefix:
		return route{paths: []string{path}}, true
	case strings.HasSuffix(path, "/"):
		return route{paths: []string{path + "{rest...}"}}, true
	}
	t.note(d.Line, "location %s: nginx matches every path with this prefix, %sx as well; here it is %s and the paths below it", text, text, text)
	return route{paths: []string{path, path + "/{rest...}"}}, true
}

var (
	group    = lazyregexp.New(`^\((?:\?P?<([A-Za-z_][A-Za-z0-9_]*)>)?(.*)\)$`)
	oneClass = lazyregexp.New(`^(\[[^\]]+\]|\\[dw])(\+|\{[0-9,]+\})$`)
	special  = lazyregexp.New(`[][()|*+?^$.{}\\]`)
)

// pattern translates a regular expression whose segments are each either plain text or one
// group.
func (t *translator) pattern(d *nginxconf.Directive, text string) (route, bool) {
	refuse := func(why string) (route, bool) {
		t.note(d.Line, "location ~ %s: %s; write its paths by hand, with {name} for a segment and {name...} for the rest", text, why)
		return route{}, false
	}
	if !strings.HasPrefix(text, "^/") || !strings.HasSuffix(text, "$") {
		return refuse("only expressions for a whole path, ^/...$, have a counterpart")
	}
	r := route{captured: map[string]string{}}
	segments := cutSegments(strings.TrimSuffix(text[2:], "$"))
	path, groups := "", 0
	for i, s := range segments {
		name, class := "", s
		if m := group().FindStringSubmatch(s); m != nil {
			groups++
			name, class = m[1], m[2]
			if name == "" {
				name = fmt.Sprintf("p%d", groups)
			}
			r.captured[fmt.Sprint(groups)], r.captured[name] = name, name
		}
		rest := class == ".*" || class == ".+"
		switch plain, ok := literal(s); {
		case ok:
			path += "/" + (&url.URL{Path: plain}).EscapedPath()
			continue
		case rest && i == len(segments)-1:
			if name == "" {
				name = "rest"
			}
			path += "/{" + name + "...}"
			continue
		case !oneClass().MatchString(class) || strings.Contains(class, "/") && !strings.HasPrefix(class, "[^"):
			return refuse(fmt.Sprintf("%q is more than a segment's name or one group", s))
		}
		if name == "" {
			name = fmt.Sprintf("s%d", i+1)
		}
		if class != "[^/]+" {
			t.note(d.Line, "location ~ %s: {%s} takes any text of a segment, not only %s", text, name, class)
		}
		path += "/{" + name + "}"
	}
	r.paths = []string{path}
	return r, true
}

// cutSegments splits at slashes outside groups and classes.
func cutSegments(text string) (list []string) {
	from, depth, class := 0, 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\':
			i++
		case class:
			class = c != ']'
		case c == '[':
			class = true
		case c == '(':
			depth++
		case c == ')':
			depth--
		case c == '/' && depth == 0:
			list = append(list, text[from:i])
			from = i + 1
		}
	}
	return append(list, text[from:])
}

var escapedSign = lazyregexp.New(`\\([^A-Za-z0-9])`)

// literal returns the only text that an expression matches, if there is only one.
func literal(s string) (string, bool) {
	if special().MatchString(escapedSign().ReplaceAllString(s, "")) {
		return "", false
	}
	plain := escapedSign().ReplaceAllString(s, "$1")
	return plain, !strings.ContainsAny(plain, "{}")
}
