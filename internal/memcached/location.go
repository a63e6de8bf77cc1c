package memcached

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/jsonp"
	"github.com/kasoku/kasoku/internal/memcached/key"
)

// table finds a request's location. It is immutable.
type table struct {
	exact    map[string]*location
	patterns []*location
}

// newTable returns the table of locations. credentials returns the fields, beside
// Authorization and Cookie, that identify a client to a fallback.
func newTable(locations []Location, credentials func(fallback int) []string) (*table, error) {
	t := &table{exact: map[string]*location{}}
	for i := range locations {
		l, err := newLocation(&locations[i])
		if err != nil {
			return nil, fmt.Errorf("location %s: %w", locations[i].Path, err)
		}
		l.keyed = keyedBy(l.template, credentials(l.Fallback))
		if !l.path.Exact() {
			t.patterns = append(t.patterns, l)
			continue
		}
		if t.exact[l.Path] != nil {
			return nil, fmt.Errorf("location %s is there twice", l.Path)
		}
		t.exact[l.Path] = l
	}
	slices.SortStableFunc(t.patterns, func(a, b *location) int {
		switch {
		case a.path.Before(b.path):
			return -1
		case b.path.Before(a.path):
			return 1
		}
		return 0
	})
	return t, nil
}

// find returns the location of a path, and sets its captures. It returns nil if there is
// none.
func (t *table) find(path []byte, c *key.Captures) *location {
	if l := t.exact[string(path)]; l != nil {
		return l
	}
	for _, l := range t.patterns {
		if l.path.Match(path, c) {
			return l
		}
	}
	return nil
}

// location is a Location in force.
type location struct {
	Location
	path     *key.Path
	template *key.Template
	near     string // appended to a key as sent, to make the key of a copy

	contentType []byte
	route       []byte // Path, for records
	keyed       keyed

	// Of answers made of values: the header lines, and the lines of wrapped answers, without the
	// fields that the filter replaces. The second of each is for values that are sent
	// compressed to clients that accept it.
	lines, wrapped [2][]byte
}

// modeOf returns the property of a filter that affects the scan of a value.
func modeOf(f *jsonp.Filter) string {
	if f == nil {
		return ""
	}
	return f.Mode().String()
}

func newLocation(cfg *Location) (*location, error) {
	l := &location{Location: *cfg, near: "\x00" + cfg.Path + "\x00" + modeOf(cfg.JSONP), contentType: []byte(cfg.ContentType), route: []byte(cfg.Path)}
	var err error
	if l.path, err = key.ParsePath(cfg.Path); err != nil {
		return nil, err
	}
	if l.template, err = key.Parse(cfg.Key, l.path); err != nil {
		return nil, err
	}
	for i := range l.lines {
		l.lines[i] = l.head(i == 1, func([]byte) bool { return false })
		if cfg.JSONP != nil {
			l.wrapped[i] = l.head(i == 1, cfg.JSONP.Drops)
		}
	}
	return l, nil
}

// head returns the header lines of all answers made of values, except fields that drops
// reports.
func (l *location) head(coded bool, drops func(name []byte) bool) (lines []byte) {
	for _, f := range l.fields(coded) {
		if !drops(f.Name) {
			lines = http1.AppendFieldBytes(lines, string(f.Name), f.Value)
		}
	}
	return lines
}

// fields returns the header fields of all answers made of values.
func (l *location) fields(coded bool) (fields http1.Fields) {
	add := func(name, value string) {
		if value != "" {
			fields = append(fields, http1.Field{Name: []byte(name), Value: []byte(value)})
		}
	}
	add("Content-Type", l.ContentType)
	for _, h := range l.Headers {
		add(h.Name, h.Value)
	}
	add("Accept-Ranges", "none")
	add("Vary", l.vary(coded))
	if !l.Lifetime {
		add("Cache-Control", l.CacheControl)
	}
	return fields
}

// vary returns the fields that the answer depends on.
func (l *location) vary(coded bool) string {
	names := l.template.Headers()
	if len(l.template.Cookies()) > 0 {
		names = append(names, "Cookie")
	}
	if coded {
		names = append(names, "Accept-Encoding")
	}
	return strings.Join(names, ", ")
}
