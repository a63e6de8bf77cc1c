package sigv4

import (
	"bytes"
	"strings"

	"github.com/kasoku/kasoku/internal/http1"
)

// claim holds the signature parameters of a request, from the Authorization header or the
// query. Its slices alias the request or the scratch that read it.
type claim struct {
	algorithm     []byte
	credential    []byte
	signedHeaders []byte
	signature     []byte
	date          []byte
	// expires is the lifetime in seconds of a presigned request, or nil.
	expires []byte
	// token reports whether the request carries a session token.
	token bool
	// presigned reports whether the claim was read from the query.
	presigned bool
}

// read parses the signature parameters of r. It checks in DynamoDB's order: both forms at
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

// CheckParts returns an error if a part of the signature in the Authorization header, or its
// date, is missing. It returns nil for a request without such a signature.
func CheckParts(r *http1.Request) *Error {
	if !bytes.HasPrefix(r.Get("Authorization"), []byte("AWS4-")) {
		return nil
	}
	s := scratches.Get().(*scratch)
	defer s.release()
	return s.read(r)
}

// CheckForm checks a request's signature as far as possible without keys. It returns nil for
// a request without one.
func CheckForm(r *http1.Request) *Error {
	if !hasSignature(r) {
		return nil
	}
	s := scratches.Get().(*scratch)
	defer s.release()
	return s.readForm(r)
}

// Scope returns the access key ID and the region in the scope of a request's signature, in the
// Authorization header or in the query. They are empty if the request has no signature. It
// checks the signature as CheckForm does.
func Scope(r *http1.Request) (id, region string, err *Error) {
	if !hasSignature(r) {
		return "", "", nil
	}
	s := scratches.Get().(*scratch)
	defer s.release()
	if err := s.readForm(r); err != nil {
		return "", "", err
	}
	key, rest, _ := bytes.Cut(s.claim.credential, []byte("/"))
	_, rest, _ = bytes.Cut(rest, []byte("/")) // the day
	of, _, _ := bytes.Cut(rest, []byte("/"))
	return string(key), string(of), nil
}

// hasSignature reports whether a request has a signature, in any form.
func hasSignature(r *http1.Request) bool {
	return r.Get("Authorization") != nil || hasParameter(r.RawQuery, "X-Amz-Algorithm")
}

// readForm is read, and checks the form of the parts.
func (s *scratch) readForm(r *http1.Request) *Error {
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

// readHeader parses "AWS4-HMAC-SHA256 Credential=..., SignedHeaders=..., Signature=...". Any
// number of commas and blanks separates parameters; unknown parameters are ignored.
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

// KeyID returns the access key ID in an Authorization header, or nil if there is none. It
// verifies nothing.
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

// maxKeyID is the maximum length of KeyID's result.
const maxKeyID = 128

// parameter returns a pointer to the field for a header parameter, or nil if the parameter
// is unknown.
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

// headerComplete returns one error that names every missing part, or nil.
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

// readQuery parses the presigned form.
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

// queryParameter returns a pointer to the field for a query parameter, or nil if the
// parameter is unknown.
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

// queryComplete returns one error that names every missing parameter, or nil.
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

// hasParameter reports whether a query has a parameter called name, which must need no
// escaping. It doesn't find an escaped spelling of the name: no signer produces one.
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
