// Package purge describes which stored responses a purge removes. Commands, the admin API and
// services share this description; each service decides which kinds it supports.
package purge

import (
	"encoding/json"
	"strings"
)

// Selector selects stored responses. The zero value selects all of a service.
type Selector struct {
	Kind Kind
	Text string // empty for All only
}

// By returns the selector of a kind with its text.
func By(kind Kind, text string) Selector { return Selector{Kind: kind, Text: text} }

// String describes the responses, for example "all that begins with /img/".
func (s Selector) String() string { return kinds[s.Kind].words + s.Text }

// Valid reports whether the kind is known, and has a text exactly if it needs one.
func (s Selector) Valid() bool {
	return int(s.Kind) < len(kinds) && (s.Kind == All) == (s.Text == "")
}

// Kind is a way to select responses. A new kind needs a constant, a member of [Members], a
// row in kinds, a flag in internal/cli/purge.go, and its meaning in
// internal/httpcache/store/purge.go.
type Kind uint8

const (
	// All selects everything.
	All Kind = iota
	// URL selects one URL with all its variants: http://host/path?query.
	URL
	// Prefix selects the URLs with a prefix: http://host/path, or /path on any host.
	Prefix
	// Pattern selects the URLs that match as a whole, where * matches any bytes: for example
	// http://host/img/*.png, or /img/*?size=* on any host. A star in the host matches no
	// slash.
	Pattern
	// Tag selects the responses with a tag in Surrogate-Key or Cache-Tag.
	Tag
)

// Members are the members of a JSON object that hold the text of a selector, one for each
// kind, as sent.
type Members struct {
	URL     json.RawMessage `json:"url,omitempty"`
	Prefix  json.RawMessage `json:"prefix,omitempty"`
	Pattern json.RawMessage `json:"pattern,omitempty"`
	Tag     json.RawMessage `json:"tag,omitempty"`
}

// kinds describes every kind.
var kinds = [...]struct {
	name   string // of the member in JSON, and of the flag on the command line
	words  string // the selected responses in words, before the text
	inURL  bool   // the text is matched with URLs, and may begin with a scheme
	member func(*Members) *json.RawMessage
}{
	All:     {name: "all", words: "everything"},
	URL:     {"url", "", true, func(m *Members) *json.RawMessage { return &m.URL }},
	Prefix:  {"prefix", "all that begins with ", true, func(m *Members) *json.RawMessage { return &m.Prefix }},
	Pattern: {"pattern", "all that matches ", true, func(m *Members) *json.RawMessage { return &m.Pattern }},
	Tag:     {"tag", "all that is tagged ", false, func(m *Members) *json.RawMessage { return &m.Tag }},
}

// Kinds returns all kinds except All, in the order of the documentation.
func Kinds() []Kind {
	all := make([]Kind, 0, len(kinds))
	for k := All + 1; int(k) < len(kinds); k++ {
		all = append(all, k)
	}
	return all
}

// List returns the names of all kinds except All as a list for messages. For example,
// List("a ", " or ") returns "a url, a prefix, a pattern or a tag".
func List(article, last string) string {
	names := make([]string, 0, len(kinds))
	for _, k := range Kinds() {
		names = append(names, article+k.String())
	}
	n := len(names) - 1
	return strings.Join(names[:n], ", ") + last + names[n]
}

// String returns the name of the kind's member in JSON, and of its flag.
func (k Kind) String() string { return kinds[k].name }

// InURL reports whether the kind's text is matched with URLs, and may begin with a scheme.
func (k Kind) InURL() bool { return kinds[k].inURL }

// Of returns the member of a kind other than All.
func (m *Members) Of(k Kind) *json.RawMessage { return kinds[k].member(m) }
