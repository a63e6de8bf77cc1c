package accel

import (
	"bytes"
	"net"
	"net/http"
	"strings"
)

// crossOrigin tells whether a browser asks for a page that may have the answer. Any
// page may that can sign requests. Where everybody is let in, a page from elsewhere
// could use what listens on its reader's machine, so that only pages of that machine
// may.
func (c *call) crossOrigin() bool {
	from := c.x.Request.Get("Origin")
	return from != nil && (c.set.verifier != nil || isLocal(from))
}

// isLocal tells whether an origin, scheme://host[:port], is this machine.
func isLocal(from []byte) bool {
	_, host, ok := bytes.Cut(from, []byte("://"))
	if !ok {
		return false
	}
	name := string(host)
	if h, _, err := net.SplitHostPort(name); err == nil {
		name = h
	}
	name = strings.ToLower(strings.Trim(name, "[]"))
	ip := net.ParseIP(name)
	return name == "localhost" || strings.HasSuffix(name, ".localhost") || ip != nil && ip.IsLoopback()
}

// anonymous lets a page from another origin read the answer.
func (c *call) allowOrigin() {
	if c.crossOrigin() {
		c.x.Reply.Field("Access-Control-Allow-Origin", "*")
		c.x.Reply.Field("Access-Control-Expose-Headers", "x-amzn-RequestId,x-amzn-ErrorType,x-amzn-ErrorMessage,Date")
	}
}

// preflight answers the question whether a page may ask at all.
func (c *call) preflight() {
	for _, f := range [...]struct{ asked, allowed string }{
		{"Access-Control-Request-Headers", "Access-Control-Allow-Headers"},
		{"Access-Control-Request-Method", "Access-Control-Allow-Methods"},
	} {
		if v := c.x.Request.Get(f.asked); v != nil {
			c.x.Reply.FieldBytes(f.allowed, v)
		}
	}
	c.x.Reply.Field("Access-Control-Max-Age", "172800")
	c.page(http.StatusOK, "", nil, reasonPreflight)
}
