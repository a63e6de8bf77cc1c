package nginximport

import (
	"slices"
	"strings"
)

// call is the configuration of JSONP for a location.
type call struct {
	line  int
	param string
	types []string
}

// jsonp returns how a location wraps its answers in calls, or nil.
func (t *translator) jsonp(s scope, contentType string) *call {
	c := t.findCall(s)
	contentType, _, _ = strings.Cut(contentType, ";")
	switch {
	case c == nil:
	case !slices.Contains(c.types, contentType):
		t.note(c.line, "only %s is wrapped there, and answers are %s: JSONP is left out", strings.Join(c.types, " "), contentType)
		return nil
	default:
		t.note(c.line, "nginx wraps answers for all clients; here a request with a Cookie or Authorization gets no wrapped answer, unless jsonp has public: true")
	}
	return c
}

// findCall finds a call that is made in one of the three supported ways: by the module
// jsonp_callback of 2009, by the module xss, or by echo.
func (t *translator) findCall(s scope) *call {
	if d := s.last("jsonp_callback"); d != nil && d.Arg(0) != "off" {
		c := &call{line: d.Line, param: d.Arg(0), types: []string{"text/html"}}
		if types := s.last("jsonp_callback_types"); types != nil {
			c.types = types.Args
		}
		return c
	}
	if s.on("xss_get") {
		d := s.last("xss_callback_arg")
		if d == nil {
			return nil // as in the module itself: without a name nothing is wrapped
		}
		c := &call{line: d.Line, param: d.Arg(0), types: []string{"application/json"}}
		if types := s.last("xss_input_types"); types != nil {
			c.types = types.Args
		}
		if out := s.last("xss_output_type"); out != nil {
			t.note(out.Line, "xss_output_type: the type of a wrapped answer is chosen by jsonp.content_type")
		}
		return c
	}
	return t.findEchoCall(s)
}

// findEchoCall finds a call that echo_before_body and echo_after_body put around the body.
func (t *translator) findEchoCall(s scope) *call {
	before, after := s.own().Last("echo_before_body"), s.own().Last("echo_after_body")
	if before == nil && after == nil {
		return nil
	}
	if before != nil && after != nil {
		head, tail := strings.TrimPrefix(strings.Join(before.Args, " "), "-n "), strings.TrimPrefix(strings.Join(after.Args, " "), "-n ")
		param, ok := strings.CutSuffix(strings.TrimPrefix(strings.TrimPrefix(strings.TrimSpace(head), "$arg_"), "${arg_"), "(")
		if param = strings.TrimSuffix(param, "}"); ok && param != "" && strings.Contains(head, "arg_") && strings.HasPrefix(strings.TrimSpace(tail), ")") {
			t.note(before.Line, "echo around the body: taken for JSONP; names are now checked, which echo did not do")
			return &call{line: before.Line, param: param, types: t.contentTypes(s)}
		}
	}
	for _, d := range s.own().Named("echo_before_body", "echo_after_body") {
		t.note(d.Line, "%s: only a call with an argument's name, as in \"$arg_callback(\" and \");\", has a counterpart", d.Name)
	}
	return nil
}

// contentTypes returns the location's own type: echo wraps any type.
func (t *translator) contentTypes(s scope) []string {
	if d := s.last("default_type"); d != nil {
		return []string{d.Arg(0)}
	}
	return []string{"text/plain"}
}
