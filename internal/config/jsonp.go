package config

import (
	"fmt"

	"github.com/kasoku/kasoku/internal/jsonp"
)

// JSONP lets scripts of other sites call JSON answers as a function. Any site can read
// wrapped answers: to allow only some sites, use CORS instead. jsonp.md describes the rules.
// The cache and the origin see no callback, so one answer serves all of them.
type JSONP struct {
	// Query argument with the name of the callback, case-sensitive.
	Param string `yaml:"param" default:"callback"`
	// Other arguments with the same meaning, for example [jsonp, jsoncallback].
	Aliases []string `yaml:"aliases"`
	// Arguments without meaning to the origin, for example [_], which jQuery adds to bypass
	// caches: like the callback, they are removed from the query before it reaches the cache
	// and the origin.
	Strip []string `yaml:"strip"`
	// Media types without parameters, for example [text/javascript], that are wrapped in
	// addition to application/json and types that end in +json. With `mode: legacy` only
	// these are wrapped, by default text/html.
	Types []string `yaml:"types"`
	// Syntax of callback names: `dotted` is names joined by dots, with indices, for example
	// app.callbacks[7]; `strict` is one name; `legacy` is letters, digits and _, as in
	// nginx's jsonp_callback, the rest of which applies as well: see jsonp.md.
	Mode string `yaml:"mode" default:"dotted" enum:"dotted|strict|legacy"`
	// Allowed beginnings of callback names, for example [jQuery, app.callbacks.]; left out:
	// all. A dotted name can call any function of the page that sent the request.
	Names []string `yaml:"names"`
	// Answer to a request with an invalid callback name, or with two different ones: `error`
	// is 400, `passthrough` the answer without a callback, which is the only choice in
	// legacy.
	Invalid string `yaml:"invalid" default:"error" enum:"error|passthrough"`
	// Handling of answers other than 200, 201 and 203, which browsers don't run as a script:
	// `only-success` passes them unchanged; `envelope` sends 200 with
	// {"status":404,"data":...} in the call, except for redirects; `as-is` wraps them and
	// keeps their status.
	Errors string `yaml:"errors" default:"only-success" enum:"only-success|envelope|as-is"`
	// Text in front of the callback's name, so that the client does not control the first
	// bytes of an answer. With legacy it is empty.
	Prefix string `yaml:"prefix" default:"/**/"`
	// Whether the callback is called only if it is a function, so that a page that has given
	// up waiting gets no error.
	Guard bool `yaml:"guard" default:"false"`
	// Whether a line feed follows the call, as in CouchDB.
	Newline bool `yaml:"newline" default:"false"`
	// Content-Type of calls. `text/javascript` is the registered name, which some old
	// clients don't support; `unchanged` is the answer's own, for legacy only.
	ContentType string `yaml:"content_type" default:"application/javascript" enum:"application/javascript|text/javascript|unchanged"`
	// Whether calls have a Content-Disposition that keeps browsers from showing them as a
	// page. Scripts ignore it.
	Attachment bool `yaml:"attachment" default:"false"`
	// Whether calls have "Cross-Origin-Resource-Policy: cross-origin" in place of the
	// answer's own value: an origin that forbids other sites would forbid them the call.
	CrossOrigin bool `yaml:"cross_origin" default:"false"`
	// Whether calls have "CDN-Cache-Control: no-store" and the same in Surrogate-Control,
	// for a CDN that leaves the callback out of its cache key.
	CDNNoStore bool `yaml:"cdn_no_store" default:"false"`
	// Whether a browser that wants the answer for something other than a script, according
	// to its Sec-Fetch-Dest, gets 403. Clients without that field get their call.
	ScriptOnly bool `yaml:"script_only" default:"false"`
	// Whether requests with a Cookie or Authorization get a call too. Browsers send a site's
	// cookies with scripts that other sites include, so if answers depend on cookies, other
	// sites could read them in their visitors' names.
	Public bool `yaml:"public" default:"false"`
}

// Filter returns the configuration of a filter. The check has filled in the values of mode
// legacy.
func (j *JSONP) Filter() jsonp.Config {
	return jsonp.Config{
		Param: j.Param, Aliases: j.Aliases, Strip: j.Strip, Types: j.Types, Names: j.Names, Prefix: j.Prefix,
		Mode:    map[string]jsonp.Mode{"strict": jsonp.Strict, "legacy": jsonp.Legacy}[j.Mode],
		Invalid: map[string]jsonp.Invalid{"passthrough": jsonp.Pass}[j.Invalid],
		Errors:  map[string]jsonp.Errors{"envelope": jsonp.Envelope, "as-is": jsonp.AsIs}[j.Errors],
		Type:    map[string]jsonp.Type{"text/javascript": jsonp.Text, "unchanged": jsonp.Unchanged}[j.ContentType],
		Guard:   j.Guard, Newline: j.Newline, Attachment: j.Attachment, CrossOrigin: j.CrossOrigin,
		CDNNoStore: j.CDNNoStore, ScriptOnly: j.ScriptOnly, Public: j.Public,
	}
}

// jsonp completes a configuration and reports its mistakes; j may be nil.
func (k *checker) jsonp(path string, j *JSONP) {
	if j == nil {
		return
	}
	k.legacy(path, j)
	cfg := j.Filter()
	for _, m := range cfg.Mistakes() {
		at := path + "." + m.Field
		if m.Index >= 0 {
			at = fmt.Sprintf("%s[%d]", at, m.Index)
		}
		k.failf(at, "%s", m.Text)
	}
}

// dynamoJSONP reports keys that have no effect on the plain routes.
func (k *checker) dynamoJSONP(path string, d *DynamoDB) {
	path += ".jsonp"
	k.jsonp(path, d.JSONP)
	switch {
	case d.JSONP == nil:
	case !d.PlainJSON:
		k.failf(path, "has no effect: only the routes of plain_json have GET requests")
	case len(d.JSONP.Strip) > 0:
		k.failf(path+".strip", "has no effect with type dynamodb: its routes read no arguments but their own")
	}
}

// legacy sets keys that the file leaves out to the values of mode legacy.
func (k *checker) legacy(path string, j *JSONP) {
	if j.Mode != "legacy" {
		return
	}
	usual := jsonp.Defaults(jsonp.Legacy)
	left := func(key string) bool {
		_, given := k.places[join(path, key)]
		return !given
	}
	if left("types") {
		j.Types = usual.Types
	}
	if left("invalid") {
		j.Invalid = "passthrough"
	}
	if left("prefix") {
		j.Prefix = usual.Prefix
	}
	if left("content_type") {
		j.ContentType = "unchanged"
	}
}
