package jsonp

import (
	"errors"
	"fmt"
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

const mostPrefix = 256

// Filter is a Config in force. It is immutable.
type Filter struct {
	cfg    Config
	params []string // Param and Aliases
	strip  []string // params and Strip
	lines  []byte
	tail   string
	seed   uint64 // of entity tags: everything but the name that changes a wrapped body
}

// New checks a Config and makes a Filter of it. The error says what is wrong with
// which of its fields.
func New(cfg Config) (*Filter, error) {
	if err := cfg.check(); err != nil {
		return nil, fmt.Errorf("jsonp: %w", err)
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

// Alike tells whether what is known of a body for f, its Body or its Packed, is right
// for g as well.
func (f *Filter) Alike(g *Filter) bool {
	return (f.cfg.Mode == Legacy) == (g.cfg.Mode == Legacy)
}

func (c *Config) check() error {
	if c.Mode > Legacy || c.Invalid > Pass || c.Type > Unchanged || c.Errors > AsIs {
		return errors.New("a mode, a type or a treatment of names or errors is none of the known ones")
	}
	if err := c.checkArguments(); err != nil {
		return err
	}
	for _, t := range c.Types {
		if !isMediaType(t) {
			return fmt.Errorf("types: %q is no media type such as text/javascript, without parameters", t)
		}
	}
	for _, n := range c.Names {
		if n == "" || len(n) > MostName || strings.ContainsFunc(n, func(r rune) bool { return r > 0x7e || !partOf(byte(r), c.Mode) }) {
			return fmt.Errorf("names: %q can't begin a name in mode %s", n, c.Mode)
		}
	}
	if len(c.Prefix) > mostPrefix || strings.ContainsFunc(c.Prefix, func(r rune) bool { return r < ' ' || r > '~' }) {
		return fmt.Errorf("prefix: want at most %d printable ASCII characters", mostPrefix)
	}
	return c.checkLegacy()
}

// checkArguments wants each argument of the query to have one meaning, and a name that
// can be compared with what clients send.
func (c *Config) checkArguments() error {
	seen := map[string]string{}
	take := func(field, name string) error {
		if name == "" || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune(`&=%+#?;`, r) }) {
			return fmt.Errorf("%s: %q is not what an argument is called: want printable ASCII without any of &=%%+#?;", field, name)
		}
		if other, twice := seen[name]; twice {
			return fmt.Errorf("%s: %q is named already, in %s", field, name, other)
		}
		seen[name] = field
		return nil
	}
	err := take("param", c.Param)
	for _, name := range c.Aliases {
		err = errors.Join(err, take("aliases", name))
	}
	for _, name := range c.Strip {
		err = errors.Join(err, take("strip", name))
	}
	return err
}

// checkLegacy refuses what has no effect in one mode or the other.
func (c *Config) checkLegacy() error {
	if c.Mode != Legacy {
		if c.Type == Unchanged {
			return errors.New("type: browsers don't run application/json as a script; only mode legacy leaves the type")
		}
		return nil
	}
	switch {
	case c.Invalid != Pass:
		return errors.New("invalid: mode legacy passes what has no valid name")
	case c.Prefix != "" || c.Guard || c.Newline:
		return errors.New("mode legacy has neither prefix nor guard nor newline: its answers are to be the old ones, byte by byte")
	case c.Type != Unchanged || c.Attachment || c.CrossOrigin || c.CDNNoStore:
		return errors.New("mode legacy leaves the header as it is: no type, attachment, cross-origin or no-store for CDNs")
	case c.Errors != OnlySuccess:
		return errors.New("errors: mode legacy wraps only 200")
	case len(c.Types) == 0:
		return errors.New("types: mode legacy wraps only what is named here")
	}
	return nil
}

func isMediaType(t string) bool {
	major, minor, ok := strings.Cut(t, "/")
	return ok && isToken(major) && isToken(minor)
}

// isToken tells whether s is made of characters of names in a header.
func isToken(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return r <= ' ' || r > '~' || strings.ContainsRune("\"(),/:;<=>?@[\\]{}", r)
	})
}
