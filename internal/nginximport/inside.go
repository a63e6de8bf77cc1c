package nginximport

import (
	"fmt"
	"strings"

	"github.com/kasoku/kasoku/internal/nginxconf"
)

// inside notes every memcached_pass in a block inside a location, which is not translated,
// and the way to rewrite it.
func (t *translator) inside(location *nginxconf.Directive) {
	where := strings.Join(location.Args, " ")
	for _, block := range location.Block {
		pass := block.Block.Last("memcached_pass")
		switch {
		case pass == nil && nested(block.Block):
			t.inside(block)
		case pass == nil:
		case block.Name == "if" && strings.Contains(strings.Join(block.Args, " "), "$request_method"):
			t.note(pass.Line, "location %s: memcached_pass is in if %s (line %d) and is not translated. Kasoku reads from memcached for GET and HEAD only, and passes other methods to the fallback: move it out of the if", where, strings.Join(block.Args, " "), block.Line)
		case block.Name == "location":
			t.note(pass.Line, "location %s: memcached_pass is in location %s (line %d) inside it and is not translated: move that location out, into the server", where, strings.Join(block.Args, " "), block.Line)
		default:
			t.note(pass.Line, "location %s: memcached_pass is in %s %s (line %d) and is not translated, because conditions have no counterpart. If memcached may be read for every request of the location, move it out; "+
				"else keep nginx in front for that", where, block.Name, strings.Join(block.Args, " "), block.Line)
		}
	}
}

// definitions returns the directives that define variables, by the variable's name.
func definitions(b nginxconf.Block) map[string]*nginxconf.Directive {
	made := map[string]*nginxconf.Directive{}
	for _, d := range b.Named("map", "geo", "split_clients") {
		if n := len(d.Args); n > 0 {
			made[strings.TrimPrefix(d.Args[n-1], "$")] = d
		}
	}
	return made
}

// maxCases is how many cases of a map a note lists.
const maxCases = 4

// cases returns the cases of a map as they are written.
func cases(d *nginxconf.Directive) string {
	var list []string
	for _, c := range d.Block {
		if len(list) == maxCases {
			list = append(list, fmt.Sprintf("and %d more", len(d.Block)-maxCases))
			break
		}
		list = append(list, fmt.Sprintf("%s %q", c.Name, c.Arg(0)))
	}
	return strings.Join(list, ", ")
}

// found describes the content of a file for which no service was made.
func found(b nginxconf.Block) string {
	passes := 0
	var walk func(b nginxconf.Block)
	walk = func(b nginxconf.Block) {
		passes += len(b.Named("memcached_pass"))
		for _, d := range b {
			walk(d.Block)
		}
	}
	walk(b)
	locations := len(b.Named("location"))
	servers := b.Named("server")
	for _, s := range servers {
		locations += len(s.Block.Named("location"))
	}
	return fmt.Sprintf("%s, %s, %s, %d memcached_pass", count(len(b.Named("upstream")), "upstream"), count(len(servers), "server"), count(locations, "location"), passes)
}

func count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprint(n, " ", what)
}
