package sigv4

import (
	"bytes"
	"strings"

	"github.com/kasoku/kasoku/internal/http1"
)

// claim is what a request says about its signature, by the Authorization header
// or by the query. Its slices alias the request or the scratch it was read with.
type claim struct {
	algorithm     []byte
	credential    []byte
	signedHeaders []byte
	signature     []byte
	date          []byte
	// expires is the lifetime in seconds of the query form, or nil.
	expires []byte
	// token says that a session token came along.
	token bool
	// presigned says that the claim was read from the query.
	presigned bool
}

// read finds the claim of r. The order of its checks is DynamoDB's: both forms at
// once, none at all, missing parts.
func (s *scratch) read(r *http1.Request) *Error {
	s.claim = claim{}
	header := r.Get("Authorization")
	presigned := hasParameter(r.RawQuery, "X-Amz-Algorithm")
	switch {
	case header != nil && presigned:
		return invalid("Found both 'X-Amz-Algorithm' as a query-string param and 'Authorization' as HTTP header.")
	case presigned:
		return s.readQuery(r)
	case !bytes.HasPrefix(header, []byte("AWS4-")):
		return &Error{"MissingAuthenticationTokenException", "Request is missing Authentication Token"}
	}
	return s.claim.readHeader(header, r)
}

// CheckParts returns an error if a part of the signature in the Authorization header
// is missing, its date included; nil also for a request without such a signature.
func CheckParts(r *http1.Request) *Error {
	if !bytes.HasPrefix(r.Get("Authorization"), []byte("AWS4-")) {
		return nil
	}
	s := scratches.Get().(*scratch)
	defer s.free()
	return s.read(r)
}

// CheckForm checks the signature of a request as far as that is possible without
// keys; it returns nil for a request that has none.
func CheckForm(r *http1.Request) *Error {
	if r.Get("Authorization") == nil && !hasParameter(r.RawQuery, "X-Amz-Algorithm") {
		return nil
	}
	s := scratches.Get().(*scratch)
	defer s.free()
	c := &s.claim
	if err := s.read(r); err != nil {
		return err
	}
	if _, ok := ParseDate(c.date); !ok {
		return badDate(c)
	}
	if string(c.algorithm) != algorithm {
		return badAlgorithm(c)
	}
	if bytes.Count(c.credential, []byte("/")) != 4 {
		return badCredential(c)
	}
	return nil
}

// readHeader reads "AWS4-HMAC-SHA256 Credential=..., SignedHeaders=..., Signature=...".
// Commas and blanks separate parameters, in any number; other parameters are ignored.
func (c *claim) readHeader(header []byte, r *http1.Request) *Error {
	name, rest, _ := bytes.Cut(header, []byte(" "))
	c.algorithm = name
	for len(rest) > 0 {
		end := bytes.IndexAny(rest, ", \t")
		if end < 0 {
			end = len(rest)
		}
		part := rest[:end]
		rest = rest[min(end+1, len(rest)):]
		if len(part) == 0 {
			continue
		}
		name, value, ok := bytes.Cut(part, []byte("="))
		if !ok {
			return incomplete("'" + string(part) + "' not a valid key=value pair (missing equal-sign) in Authorization header: '" + string(header) + "'.")
		}
		to := c.parameter(name)
		if to == nil {
			continue
		}
		if *to != nil {
			return incomplete("Authorization header requires exactly one '" + string(name) + "' parameter. Authorization=" + string(header))
		}
		*to = value
	}
	c.token = len(r.Get("X-Amz-Security-Token")) > 0
	if c.date = r.Get("X-Amz-Date"); c.date == nil {
		c.date = r.Get("Date")
	}
	return c.headerComplete(header)
}

// KeyID returns the id of the key that an Authorization header names, nil if it names none.
// Nothing is proved by that.
func KeyID(header []byte) []byte {
	const parameter = "Credential="
	i := bytes.Index(header, []byte(parameter))
	if i < 0 {
		return nil
	}
	id := header[i+len(parameter):]
	if end := bytes.IndexAny(id, "/, \t"); end >= 0 {
		id = id[:end]
	}
	return id[:min(len(id), maxKeyID)]
}

// maxKeyID is how much KeyID returns at most.
const maxKeyID = 128

// parameter is where the value of a parameter of the header belongs, or nil.
func (c *claim) parameter(name []byte) *[]byte {
	switch string(name) {
	case "Credential":
		return &c.credential
	case "SignedHeaders":
		return &c.signedHeaders
	case "Signature":
		return &c.signature
	}
	return nil
}

// headerComplete names every part that is missing, in one message.
func (c *claim) headerComplete(header []byte) *Error {
	if len(c.credential) > 0 && len(c.signature) > 0 && len(c.signedHeaders) > 0 && len(c.date) > 0 {
		return nil
	}
	var m strings.Builder
	require := func(name string, value []byte) {
		if len(value) == 0 {
			m.WriteString("Authorization header requires '" + name + "' parameter. ")
		}
	}
	require("Credential", c.credential)
	require("Signature", c.signature)
	require("SignedHeaders", c.signedHeaders)
	if len(c.date) == 0 {
		m.WriteString("Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header. ")
	}
	m.WriteString("Authorization=")
	m.Write(header)
	return incomplete(m.String())
}

// readQuery reads the presigned form.
func (s *scratch) readQuery(r *http1.Request) *Error {
	c := &s.claim
	c.presigned = true
	c.token = len(r.Get("X-Amz-Security-Token")) > 0
	s.decoded = s.decoded[:0]
	for rest := r.RawQuery; len(rest) > 0; {
		var part []byte
		part, rest, _ = bytes.Cut(rest, []byte("&"))
		name, value, _ := bytes.Cut(part, []byte("="))
		s.decoded, name = unescape(s.decoded, name)
		if !bytes.HasPrefix(name, []byte("X-Amz-")) {
			continue
		}
		s.decoded, value = unescape(s.decoded, value)
		if to := c.queryParameter(name); to != nil {
			if *to != nil {
				return incomplete("AWS query-string parameters must include '" + string(name) + "' exactly once. Re-examine the query-string parameters.")
			}
			*to = value
		} else if string(name) == "X-Amz-Security-Token" {
			c.token = c.token || len(value) > 0
		}
	}
	return c.queryComplete()
}

// queryParameter is where the value of a parameter of the query belongs, or nil.
func (c *claim) queryParameter(name []byte) *[]byte {
	switch string(name) {
	case "X-Amz-Algorithm":
		return &c.algorithm
	case "X-Amz-Credential":
		return &c.credential
	case "X-Amz-Signature":
		return &c.signature
	case "X-Amz-SignedHeaders":
		return &c.signedHeaders
	case "X-Amz-Date":
		return &c.date
	case "X-Amz-Expires":
		return &c.expires
	}
	return nil
}

// queryComplete names every parameter that is missing, in one message.
func (c *claim) queryComplete() *Error {
	var m strings.Builder
	require := func(name string, value []byte) {
		if len(value) == 0 {
			m.WriteString("AWS query-string parameters must include '" + name + "'. ")
		}
	}
	require("X-Amz-Algorithm", c.algorithm)
	require("X-Amz-Credential", c.credential)
	require("X-Amz-Signature", c.signature)
	require("X-Amz-SignedHeaders", c.signedHeaders)
	require("X-Amz-Date", c.date)
	if m.Len() == 0 {
		return nil
	}
	return incomplete(m.String() + "Re-examine the query-string parameters.")
}

// hasParameter reports whether a query has a parameter called name, which must
// need no escaping. An escaped spelling of the name is not found: nobody signs so.
func hasParameter(query []byte, name string) bool {
	for len(query) > 0 {
		var part []byte
		part, query, _ = bytes.Cut(query, []byte("&"))
		if found, _, _ := bytes.Cut(part, []byte("=")); string(found) == name {
			return true
		}
	}
	return false
}
