package accel

import (
	"bytes"
	"net"
	"net/http"
	"strings"
)

// crossOrigin reports whether a page of another origin may read the reply. If signatures are
// required, any page that can sign is allowed. If not, only local pages are: any other page
// could otherwise use a service on its reader's machine.
func (c *call) crossOrigin() bool {
	from := c.x.Request.Get("Origin")
	return from != nil && (c.set.verifier != nil || isLocal(from))
}

// isLocal reports whether an origin, scheme://host[:port], is this machine.
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

// allowOrigin lets a page of another origin read the reply.
func (c *call) allowOrigin() {
	if c.crossOrigin() {
		c.x.Reply.Field("Access-Control-Allow-Origin", "*")
		c.x.Reply.Field("Access-Control-Expose-Headers", "x-amzn-RequestId,x-amzn-ErrorType,x-amzn-ErrorMessage,Date")
	}
}

// preflight answers a CORS preflight request.
func (c *call) preflight() {
	for _, f := range [...]struct{ requested, allowed string }{
		{"Access-Control-Request-Headers", "Access-Control-Allow-Headers"},
		{"Access-Control-Request-Method", "Access-Control-Allow-Methods"},
	} {
		if v := c.x.Request.Get(f.requested); v != nil {
			c.x.Reply.FieldBytes(f.allowed, v)
		}
	}
	c.x.Reply.Field("Access-Control-Max-Age", "172800")
	c.page(http.StatusOK, "", nil, reasonPreflight)
}
