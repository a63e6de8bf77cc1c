package nginximport

import (
	"strings"

	"github.com/kasoku/kasoku/internal/nginxconf"
)

// keys translates texts with nginx's variables into key templates.
type keys struct {
	*translator
	line       int
	vars       map[string]*nginxconf.Directive
	captured   map[string]string
	serverName string
	scheme     string

	decoded bool // a part was used that nginx decodes
	raw     bool // a part was used that nginx keeps as received
	args    bool // an argument was used, which is such a part
	taken   int  // texts translated so far
}

// Bounds on the definition of variables by other variables.
const (
	maxVariableDepth = 8
	maxVariables     = 100
)

// template returns text with each variable replaced by its counterpart. It fails, after
// noting the reason, if a variable has none.
func (k *keys) template(text string, depth int) (string, bool) {
	if k.taken++; depth > maxVariableDepth || k.taken > maxVariables {
		k.note(k.line, "variables are defined by each other without end")
		return "", false
	}
	text = strings.ReplaceAll(text, "$uri$is_args$args", "$request_uri")
	var b strings.Builder
	for text != "" {
		before, after, found := strings.Cut(text, "$")
		b.WriteString(before)
		if !found {
			break
		}
		name, rest := variableName(after)
		value, ok := k.variable(name, depth)
		if !ok {
			return "", false
		}
		b.WriteString(value)
		text = rest
	}
	return b.String(), true
}

// variableName splits off the name that follows a dollar.
func variableName(s string) (name, rest string) {
	if strings.HasPrefix(s, "{") {
		if end := strings.IndexByte(s, '}'); end > 0 {
			return s[1:end], s[end+1:]
		}
	}
	if s != "" && s[0] >= '1' && s[0] <= '9' {
		return s[:1], s[1:]
	}
	n := strings.IndexFunc(s, func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r|0x20 < 'a' || r|0x20 > 'z')
	})
	if n < 0 {
		n = len(s)
	}
	return s[:n], s[n:]
}

// variable returns the counterpart of one variable.
func (k *keys) variable(name string, depth int) (string, bool) {
	if source, ok := k.captured[name]; ok {
		k.decoded = true
		return "${path." + source + "}", true
	}
	if d := k.vars[name]; d != nil {
		return k.template(d.Arg(1), depth+1)
	}
	kind, of, _ := strings.Cut(name, "_")
	switch {
	case kind == "arg" && of != "":
		k.raw, k.args = true, true
		return "${arg." + of + "}", true
	case kind == "cookie" && of != "":
		return "${cookie." + of + "}", true
	case name == "http_host":
		k.note(k.line, "$http_host: the host is used without its port, in lower case")
		return "${host}", true
	case kind == "http" && of != "":
		return "${header." + strings.ReplaceAll(of, "_", "-") + "}", true
	}
	switch name {
	case "uri", "document_uri":
		k.decoded = true
		return "${path}", true
	case "request_uri":
		k.raw = true
		return "${uri}", true
	case "args", "query_string":
		k.raw = true
		return "${query}", true
	case "host":
		return "${host}", true
	case "server_name":
		return k.serverName, true
	case "scheme":
		return k.scheme, true
	}
	if d := k.made[name]; d != nil {
		k.note(k.line, "$%s is made by %s in line %d, and keys can't be: %s; write a location for each case, with its own key", name, d.Name, d.Line, cases(d))
		return "", false
	}
	k.note(k.line, "$%s: it has no counterpart in keys", name)
	return "", false
}
