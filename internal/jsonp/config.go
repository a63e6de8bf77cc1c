package jsonp

import (
	"slices"
	"strings"
)

// Config says which answers are wrapped, and how. Defaults gives one to begin with.
type Config struct {
	// Param is the argument of the query that names the callback. Names of arguments
	// are compared by case, as all of a query is.
	Param string
	// Aliases are other arguments with the same meaning.
	Aliases []string
	// Strip are arguments that mean nothing to the origin, such as the "_" that some
	// clients add to get past caches: they are taken out of the query like the callback.
	Strip []string
	// Types are media types, without parameters, that are wrapped beside
	// application/json and those that end in +json. For Legacy these are all that are.
	Types []string
	// Mode says what a callback may be called.
	Mode Mode
	// Names, if there are any, are how a callback's name must begin: a dotted name can
	// call any function of the page that it is put into.
	Names []string
	// Invalid says what becomes of a request whose callback has a name that Mode
	// forbids.
	Invalid Invalid
	// Prefix stands before the name, so that whoever asks does not choose the first
	// bytes of an answer.
	Prefix string
	// Guard calls only what is a function: a page that has given up waiting then gets no
	// error.
	Guard bool
	// Newline ends the answer with a line feed, as CouchDB does.
	Newline bool
	// Type is the media type of wrapped answers.
	Type Type
	// Attachment adds a Content-Disposition that keeps browsers from showing the answer
	// as a page. It means nothing to scripts.
	Attachment bool
	// CrossOrigin adds "Cross-Origin-Resource-Policy: cross-origin" in place of what the
	// answer says: what forbids other sites would forbid the callback.
	CrossOrigin bool
	// CDNNoStore tells caches of a CDN, in header fields that only they heed, not to keep
	// wrapped answers: for those that leave the callback out of what they know an answer
	// by, and would give one page's call to another.
	CDNNoStore bool
	// ScriptOnly refuses what a browser wants for something else than a script, by its
	// Sec-Fetch-Dest. Clients that say nothing of it are answered.
	ScriptOnly bool
	// Public wraps what is asked for with a Cookie or Authorization too. Any site can
	// read what is wrapped, in the name of any of its visitors.
	Public bool
	// Errors says what becomes of answers that browsers don't run as a script, because
	// of their status.
	Errors Errors
}

// Invalid says what becomes of a request for a callback that may not be called so.
type Invalid uint8

const (
	// Refuse answers 400.
	Refuse Invalid = iota
	// Pass answers as if there were no callback.
	Pass
)

// Type is what Content-Type says of a wrapped answer.
type Type uint8

const (
	// Application is application/javascript, which every client knows.
	Application Type = iota
	// Text is text/javascript, the registered name (RFC 9239).
	Text
	// Unchanged leaves the answer's own; for Legacy only.
	Unchanged
)

// Errors says how answers other than 200, 201 and 203 are wrapped.
type Errors uint8

const (
	// OnlySuccess leaves them as they are.
	OnlySuccess Errors = iota
	// Envelope makes 200 of all but redirects, with {"status":404,"data":...} around the
	// body and the status in X-Status. A success without a body calls back without
	// anything.
	Envelope
	// AsIs wraps them and leaves their status.
	AsIs
)

// Defaults is what a mode does if nothing else is said. Legacy does what
// ngx_http_jsonp_callback did, save that it wraps with credentials only where Public is
// set: that module did always.
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
	seed   uint64 // of entity tags: everything but the name that changes a wrapped body
}

// New makes a Filter of a Config. An error is the first of its mistakes.
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

// Mode is the Config's.
func (f *Filter) Mode() Mode { return f.cfg.Mode }

// Alike tells whether what is known of a body for f, its Body or its Packed, is right
// for g as well.
func (f *Filter) Alike(g *Filter) bool {
	return (f.cfg.Mode == Legacy) == (g.cfg.Mode == Legacy)
}
