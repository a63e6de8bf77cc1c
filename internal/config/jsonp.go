package config

import (
	"fmt"

	"github.com/kasoku/kasoku/internal/jsonp"
)

// JSONP lets scripts of other sites call JSON answers as a function of theirs. Any site can
// read what is wrapped so: where only some should, use CORS instead. jsonp.md tells the
// rules. What is cached and what origins are asked for has no callback, so that one
// answer serves all of them.
type JSONP struct {
	// The argument of the query that names the callback, to the letter.
	Param string `yaml:"param" default:"callback"`
	// Other arguments with the same meaning, such as [jsonp, jsoncallback].
	Aliases []string `yaml:"aliases"`
	// Arguments that mean nothing to the origin, such as [_], which jQuery adds to get past
	// caches: like the callback, they are taken off before the cache and the origin see the
	// query.
	Strip []string `yaml:"strip"`
	// Media types without parameters, such as [text/javascript], that are wrapped beside
	// application/json and those that end in +json. With `mode: legacy` only these are, and
	// left out they are text/html.
	Types []string `yaml:"types"`
	// What a callback may be called: `dotted` is names joined by dots, with indices, as
	// app.callbacks[7]; `strict` one name; `legacy` letters, digits and _, as nginx's jsonp_callback took it, of
	// which everything else is done as it did, too: jsonp.md tells what that is.
	Mode string `yaml:"mode" default:"dotted" enum:"dotted|strict|legacy"`
	// How callbacks must begin, such as [jQuery, app.callbacks.]; left out, as they like. A
	// dotted name can call any function of the page that asks.
	Names []string `yaml:"names"`
	// What becomes of a request for a callback that may not be called so, or is called
	// differently twice: `error` is 400, `passthrough` the answer without a callback, which legacy
	// has always.
	Invalid string `yaml:"invalid" default:"error" enum:"error|passthrough"`
	// What becomes of answers other than 200, 201 and 203, which browsers don't run as a
	// script: `only-success` leaves them as they are; `envelope` sends 200 with
	// {"status":404,"data":...} in the call, but for redirects; `as-is` wraps them and
	// leaves their status.
	Errors string `yaml:"errors" default:"only-success" enum:"only-success|envelope|as-is"`
	// What stands before the callback's name, so that who asks does not choose the
	// first bytes of an answer. With legacy it is empty.
	Prefix string `yaml:"prefix" default:"/**/"`
	// Whether only what is a function is called: a page that has given up waiting then gets no
	// error.
	Guard bool `yaml:"guard" default:"false"`
	// Whether a line feed ends the call, as CouchDB's does.
	Newline bool `yaml:"newline" default:"false"`
	// The Content-Type of calls. `text/javascript` is the registered name, which some old
	// clients don't know; `unchanged` is legacy's, and only that: the answer's own.
	ContentType string `yaml:"content_type" default:"application/javascript" enum:"application/javascript|text/javascript|unchanged"`
	// Whether calls have a Content-Disposition that keeps browsers from showing them as a
	// page. Scripts don't heed it.
	Attachment bool `yaml:"attachment" default:"false"`
	// Whether calls have "Cross-Origin-Resource-Policy: cross-origin" in place of what the
	// answer says: an origin that forbids other sites forbids them the call.
	CrossOrigin bool `yaml:"cross_origin" default:"false"`
	// Whether calls have "CDN-Cache-Control: no-store" and the same in Surrogate-Control, for a CDN that
	// leaves the callback out of what it knows an answer by.
	CDNNoStore bool `yaml:"cdn_no_store" default:"false"`
	// Whether a browser that wants the answer for something else than a script, as its
	// Sec-Fetch-Dest tells, gets 403. Clients that tell nothing get their call.
	ScriptOnly bool `yaml:"script_only" default:"false"`
	// Whether requests with a Cookie or Authorization get a call too. Browsers send a site's
	// cookies with scripts that any other site asks for, so where answers depend on them, others
	// could read them in their visitors' names.
	Public bool `yaml:"public" default:"false"`
}

// Filter is the configuration of a filter. What the file left out of mode legacy has been
// filled in when it was checked.
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

// jsonp completes a configuration and finds its mistakes; j may be nil.
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

// dynamoJSONP finds what has no effect on the plain routes.
func (k *checker) dynamoJSONP(path string, d *DynamoDB) {
	path += ".jsonp"
	k.jsonp(path, d.JSONP)
	switch {
	case d.JSONP == nil:
	case !d.PlainJSON:
		k.failf(path, "has no effect: only the routes of plain_json are asked with GET")
	case len(d.JSONP.Strip) > 0:
		k.failf(path+".strip", "has no effect with type dynamodb: its routes read no arguments but their own")
	}
}

// legacy gives what the file leaves out the values that mode legacy has.
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
