package config

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/kasoku/kasoku/internal/lazyregexp"
)

// reference matches ${NAME} and ${NAME:-default} in a value, with the dollar that escapes
// it, and the forms of shells that are not supported. By convention, names of environment
// variables consist of capital letters, digits and _, so the ${arg.id} of a memcached key is
// not one.
var reference = lazyregexp.New(`(\$?)\$\{([A-Z_][A-Z0-9_]*)((?:[^}A-Za-z0-9_.][^}]*)?)(\}|$)`)

// expand replaces references with the values of environment variables.
func (d *decoder) expand(text string) (string, error) {
	var problem error
	fail := func(format string, args ...any) string {
		if problem == nil {
			problem = fmt.Errorf(format, args...)
		}
		return ""
	}
	out := reference().ReplaceAllStringFunc(text, func(found string) string {
		m := reference().FindStringSubmatch(found)
		escape, name, rest, end := m[1], m[2], m[3], m[4]
		def, hasDefault := strings.CutPrefix(rest, ":-")
		switch {
		case escape != "":
			return found[1:]
		case end == "":
			return fail("lacks the } after ${%s; write $${%s for these characters", name, name)
		case rest != "" && !hasDefault:
			return fail("has ${%s%s}, which is neither ${%s} nor ${%s:-default}; write $${%s for these characters", name, rest, name, name, name)
		case strings.Contains(def, "${"):
			return fail("has a reference inside the default of ${%s}; a default is plain text", name)
		}
		value, ok := d.env(name)
		switch {
		case hasDefault && value == "":
			return def
		case !ok:
			return fail("needs the environment variable %s, which is not set; set it, or give a default: ${%s:-default}", name, name)
		}
		d.used[name] = value
		return value
	})
	return out, problem
}

// minRedacted is the minimum length of a value that is redacted. Shorter values would match
// by chance.
const minRedacted = 6

// redactor holds the values of environment variables that must not be shown, by name.
type redactor map[string]string

// redact replaces the values with the names of their variables.
func (r redactor) redact(text string) string {
	names := slices.SortedFunc(maps.Keys(r), func(a, b string) int { return len(r[b]) - len(r[a]) })
	for _, name := range names {
		if len(r[name]) < minRedacted {
			break
		}
		quoted := strconv.Quote(r[name])
		for _, value := range []string{r[name], quoted[1 : len(quoted)-1]} {
			text = strings.ReplaceAll(text, value, "${"+name+"}")
		}
	}
	return text
}

var secretName = lazyregexp.New(`SECRET|PASSW|TOKEN|CREDENTIAL|KEY`)

// secrets returns the variables whose names suggest a secret.
func (r redactor) secrets() redactor {
	found := redactor{}
	for name, value := range r {
		if secretName().MatchString(name) {
			found[name] = value
		}
	}
	return found
}
