package couch

import (
	"bytes"

	"github.com/kasoku/kasoku/internal/jsonp"
)

// withoutCallback makes the query that says what a request means to CouchDB. The engine
// takes the callback out of what it sends on by itself.
func (c *call) withoutCallback() {
	r, f := &c.x.Request, c.set.cfg.HTTP.JSONP
	c.query, c.called = r.RawQuery, false
	if m := string(r.Method); f == nil || m != "GET" && m != "HEAD" || !f.Strips(r.RawQuery) {
		return
	}
	c.called = true
	if c.bare = f.Strip(c.bare[:0], r.RawQuery); len(c.bare) == 0 {
		c.query = nil
		return
	}
	c.query = c.bare
}

// refused tells whether the engine will refuse the request for its callback: nobody is
// asked anything then.
func (c *call) refused() bool {
	r, f := &c.x.Request, c.set.cfg.HTTP.JSONP
	var name [jsonp.MostName]byte
	_, asked := f.Name(name[:0], r.RawQuery)
	why := f.Admit(&jsonp.Request{Method: r.Method, Asked: asked, Destination: r.Get("Sec-Fetch-Dest")})
	return why.Action() == jsonp.RefuseIt
}

// ends tells whether a live feed ends with its first rows, so that it can be wrapped.
func (c *call) ends() bool {
	for arg := range bytes.SplitSeq(c.query, []byte{'&'}) {
		if string(arg) == "feed=longpoll" {
			return true
		}
	}
	return false
}

// users are fields by which a proxy tells nodes who a user is.
var users = []string{"X-Auth-CouchDB-UserName", "X-Auth-CouchDB-Roles", "X-Auth-CouchDB-Token"}
