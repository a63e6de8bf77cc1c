package jsonp

import (
	"slices"
	"strings"
)

// Config selects the answers to wrap and the form of a wrapped answer. Defaults returns a
// starting point.
type Config struct {
	// Param is the argument of the query that names the callback. Names of arguments are
	// case-sensitive.
	Param string
	// Aliases are other arguments with the same meaning.
	Aliases []string
	// Strip are arguments without a meaning to the origin, for example the "_" that some
	// clients add to bypass caches. They are removed from the query like the callback.
	Strip []string
	// Types are media types, without parameters, that are wrapped in addition to
	// application/json and types ending in +json. For Legacy they are the only ones.
	Types []string
	// Mode is the set of valid callback names.
	Mode Mode
	// Names, if not empty, are the allowed beginnings of a callback's name: a dotted name
	// can call any function of the page it is put into.
	Names []string
	// Invalid is the treatment of a request whose callback has a name that Mode forbids.
	Invalid Invalid
	// Prefix precedes the name, so that a client does not choose the first bytes of an
	// answer.
	Prefix string
	// Guard calls the name only if it is a function: a page that has stopped waiting then
	// has no script error.
	Guard bool
	// Newline ends the answer with a line feed, as CouchDB does.
	Newline bool
	// Type is the media type of wrapped answers.
	Type Type
	// Attachment adds a Content-Disposition that keeps browsers from showing the answer as a
	// page. Scripts ignore it.
	Attachment bool
	// CrossOrigin replaces the answer's own policy by "Cross-Origin-Resource-Policy:
	// cross-origin": a policy that forbids other sites would forbid the callback.
	CrossOrigin bool
	// CDNNoStore forbids caches of a CDN to store wrapped answers, in header fields that
	// only they follow. Such a cache may have the callback excluded from its keys, and would
	// serve one page's call to another.
	CDNNoStore bool
	// ScriptOnly refuses requests whose Sec-Fetch-Dest is not script. Requests without that
	// field are answered.
	ScriptOnly bool
	// Public wraps answers to requests with Cookie or Authorization too. Any site can read a
	// wrapped answer in the name of any of its visitors.
	Public bool
	// Errors is the treatment of answers that browsers do not run as a script because of
	// their status.
	Errors Errors
}

// Invalid is the treatment of a request whose callback has an invalid name.
type Invalid uint8

const (
	// Refuse answers 400.
	Refuse Invalid = iota
	// Pass answers as if there were no callback.
	Pass
)

// Type is the Content-Type of a wrapped answer.
type Type uint8

const (
	// Application is application/javascript, which every client accepts.
	Application Type = iota
	// Text is text/javascript, the registered name (RFC 9239).
	Text
	// Unchanged keeps the answer's own; for Legacy only.
	Unchanged
)

// Errors is the treatment of answers with a status other than 200, 201 and 203.
type Errors uint8

const (
	// OnlySuccess does not wrap them.
	OnlySuccess Errors = iota
	// Envelope sends 200 for all except redirects, with {"status":404,"data":...} around the
	// body and the status in X-Status. A success without a body calls back without an
	// argument.
	Envelope
	// AsIs wraps them and keeps their status.
	AsIs
)

// Defaults returns the default configuration of a mode. Legacy reproduces
// ngx_http_jsonp_callback, except that it wraps answers to requests with credentials only if
// Public is set: that module always did.
func Defaults(m Mode) Config {
	if m == Legacy {
		return Config{Param: "callback", Mode: Legacy, Types: []string{"text/html"}, Invalid: Pass, Type: Unchanged}
	}
	return Config{Param: "callback", Mode: m, Prefix: "/**/"}
}

// Filter is a Config in force. It is immutable.
type Filter struct {
	cfg    Config
	params []string // Param and Aliases
	strip  []string // params and Strip
	lines  []byte
	tail   string
	seed   uint64 // of entity tags: a hash of everything except the name that changes a wrapped body
}

// New returns the Filter of a Config. The error is the first of its mistakes.
func New(cfg Config) (*Filter, error) {
	if list := cfg.Mistakes(); len(list) > 0 {
		return nil, list[0]
	}
	f := &Filter{cfg: cfg, tail: ");"}
	f.cfg.Types = make([]string, len(cfg.Types))
	for i, t := range cfg.Types {
		f.cfg.Types[i] = strings.ToLower(t)
	}
	f.cfg.Names = slices.Clone(cfg.Names)
	f.params = append([]string{cfg.Param}, cfg.Aliases...)
	f.strip = append(slices.Clone(f.params), cfg.Strip...)
	if cfg.Newline {
		f.tail = ");\n"
	}
	f.lines = cfg.lines()
	f.seed = f.version()
	return f, nil
}

// Mode returns the Config's mode.
func (f *Filter) Mode() Mode { return f.cfg.Mode }

// Alike reports whether a Body or a Packed made for f is valid for g as well.
func (f *Filter) Alike(g *Filter) bool {
	return (f.cfg.Mode == Legacy) == (g.cfg.Mode == Legacy)
}
