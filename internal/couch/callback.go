package couch

import (
	"bytes"

	"github.com/kasoku/kasoku/internal/jsonp"
)

// stripCallback sets c.query to the query without the callback. The engine removes the
// callback from the request that it sends on.
func (c *call) stripCallback() {
	r := &c.x.Request
	c.query, c.stripped = r.RawQuery, false
	if m := string(r.Method); m == "GET" || m == "HEAD" {
		var target []byte
		target, c.query = c.callback.Strip(c.settings.cfg.HTTP.JSONP, nil, r.RawQuery)
		c.stripped = target != nil
	}
}

// refused reports whether the engine will refuse the request because of its callback. Then
// no node gets a request.
func (c *call) refused() bool {
	return c.callback.Admit(c.settings.cfg.HTTP.JSONP, &c.x.Request, nil) == jsonp.RefuseIt
}

// endsByItself reports whether a live feed ends with its first rows, so that it can be wrapped.
func (c *call) endsByItself() bool {
	for arg := range bytes.SplitSeq(c.query, []byte{'&'}) {
		if string(arg) == "feed=longpoll" {
			return true
		}
	}
	return false
}

// userFields are the fields in which a proxy names the user to nodes.
var userFields = []string{"X-Auth-CouchDB-UserName", "X-Auth-CouchDB-Roles", "X-Auth-CouchDB-Token"}
