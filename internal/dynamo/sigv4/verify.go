package sigv4

import (
	"bytes"
	"crypto/subtle"
	"strconv"
	"strings"
	"time"

	"github.com/kasoku/kasoku/internal/ascii"
	"github.com/kasoku/kasoku/internal/http1"
)

// maxSkew is the maximum difference between a signature's date and now.
const maxSkew = 15 * time.Minute

// Verifier verifies requests against a fixed list of keys. It is safe for concurrent use.
type Verifier struct {
	region, service string
	index           map[string]int
	secrets         []secret
}

// NewVerifier returns a verifier for a scope and the keys that clients may use. If two keys
// have the same ID, the first is used.
func NewVerifier(region, service string, keys []Key) *Verifier {
	v := &Verifier{region: region, service: service, index: make(map[string]int, len(keys)), secrets: make([]secret, len(keys))}
	for i, k := range keys {
		v.secrets[i].secret, v.secrets[i].region, v.secrets[i].service = k.Secret, region, service
		if _, ok := v.index[k.ID]; !ok {
			v.index[k.ID] = i
		}
	}
	return v
}

// Verify checks the signature of r with its complete body at the time now. It returns the
// index of the key that signed. It retains nothing of r.
func (v *Verifier) Verify(r *http1.Request, body []byte, now time.Time) (key int, err *Error) {
	s := scratches.Get().(*scratch)
	key, err = v.verify(s, r, body, now)
	s.release()
	return key, err
}

// verify makes the checks in DynamoDB's order.
func (v *Verifier) verify(s *scratch, r *http1.Request, body []byte, now time.Time) (int, *Error) {
	if err := s.read(r); err != nil {
		return 0, err
	}
	c := &s.claim
	if err := checkDate(c, now); err != nil {
		return 0, err
	}
	if err := checkSigned(c, r); err != nil {
		return 0, err
	}
	if string(c.algorithm) != algorithm {
		return 0, badAlgorithm(c)
	}
	id, err := v.checkScope(c)
	if err != nil {
		return 0, err
	}
	key, ok := v.index[string(id)]
	if !ok || c.token {
		return 0, &Error{"UnrecognizedClientException", "The security token included in the request is invalid."}
	}
	s.hash(body)
	if err := checkPayload(r.Get("X-Amz-Content-Sha256"), s.payload[:]); err != nil {
		return 0, err
	}
	return key, v.checkSignature(s, r, key)
}

// checkDate checks that the signature is valid at now.
func checkDate(c *claim, now time.Time) *Error {
	at, ok := ParseDate(c.date)
	if !ok {
		return badDate(c)
	}
	now = now.UTC()
	life, unit := maxSkew, "15 min."
	if c.expires != nil {
		seconds, err := strconv.ParseUint(string(c.expires), 10, 32)
		if err != nil || seconds > 604800 {
			return incomplete("X-Amz-Expires must be a number of seconds between 0 and 604800. Got '" + string(c.expires) + "'.")
		}
		if asked := time.Duration(seconds) * time.Second; asked < life {
			life, unit = asked, string(c.expires)+" sec."
		}
	}
	if oldest := now.Add(-life).Truncate(time.Second); at.Before(oldest) {
		return invalid("Signature expired: " + string(c.date) + " is now earlier than " + oldest.Format(dateLayout) + " (" + now.Format(dateLayout) + " - " + unit + ")")
	}
	if newest := now.Add(maxSkew); at.After(newest) {
		return invalid("Signature not yet current: " + string(c.date) + " is still later than " + newest.Format(dateLayout) + " (" + now.Format(dateLayout) + " + 15 min.)")
	}
	return nil
}

// ParseDate parses a date of exactly the form 20130301T000000Z.
func ParseDate(b []byte) (time.Time, bool) {
	if len(b) != len(dateLayout) || b[8] != 'T' || b[15] != 'Z' {
		return time.Time{}, false
	}
	bad := false
	digits := func(from, to int) (n int) {
		for _, c := range b[from:to] {
			bad = bad || c < '0' || c > '9'
			n = n*10 + int(c-'0')
		}
		return n
	}
	year, month, day := digits(0, 4), digits(4, 6), digits(6, 8)
	hour, minute, second := digits(9, 11), digits(11, 13), digits(13, 15)
	if bad || hour > 23 || minute > 59 || second > 59 {
		return time.Time{}, false
	}
	t := time.Date(year, time.Month(month), day, hour, minute, second, 0, time.UTC)
	return t, t.Month() == time.Month(month) && t.Day() == day
}

// checkSigned requires the host and every x-amz-* header to be signed. If
// X-Amz-Target were not signed, an eavesdropper could replay the body as another operation.
func checkSigned(c *claim, r *http1.Request) *Error {
	if !isSigned([]byte("host"), c.signedHeaders) {
		return unsigned("Host")
	}
	for i := range r.Fields {
		if name := r.Fields[i].Name; isAmz(name) && !isSigned(name, c.signedHeaders) {
			return unsigned(string(name))
		}
	}
	return nil
}

func isAmz(name []byte) bool {
	const prefix = "x-amz-"
	return len(name) >= len(prefix) && ascii.EqualFold(name[:len(prefix)], prefix)
}

// checkScope rejects a credential for any other scope, and returns the ID of the access key.
func (v *Verifier) checkScope(c *claim) (id []byte, err *Error) {
	var part [5][]byte
	rest, more := c.credential, true
	for i := range part {
		if !more {
			return nil, badCredential(c)
		}
		part[i], rest, more = bytes.Cut(rest, []byte("/"))
	}
	if more {
		return nil, badCredential(c)
	}
	region, service, term := string(part[2]) == v.region, string(part[3]) == v.service, string(part[4]) == terminator
	day := bytes.Equal(part[1], c.date[:8])
	if region && service && term && day {
		return part[0], nil
	}
	var m strings.Builder
	if !region {
		m.WriteString("Credential should be scoped to a valid region, not '" + string(part[2]) + "'. ")
	}
	if !service {
		m.WriteString("Credential should be scoped to correct service: '" + v.service + "'. ")
	}
	if !term {
		m.WriteString("Credential should be scoped with a valid terminator: '" + terminator + "', not '" + string(part[4]) + "'. ")
	}
	if !day {
		m.WriteString("Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date from HTTP: '" +
			string(part[1]) + "' != '" + string(c.date[:8]) + "', from '" + string(c.date) + "'.")
	}
	return nil, invalid(m.String())
}

// checkPayload requires the declared hash of the body, if any, to match the body. Unsigned
// bodies and bodies signed in chunks are rejected.
func checkPayload(announced, payload []byte) *Error {
	if announced == nil || bytes.Equal(announced, payload) {
		return nil
	}
	if bytes.HasPrefix(announced, []byte("UNSIGNED-")) || bytes.HasPrefix(announced, []byte("STREAMING-")) {
		return invalid("'X-Amz-Content-Sha256' must be the hash of the body, not '" + string(announced) + "'.")
	}
	return invalid("The provided 'X-Amz-Content-Sha256' header does not match what was computed.")
}

// checkSignature computes the signature of r and compares it in constant time.
func (v *Verifier) checkSignature(s *scratch, r *http1.Request, key int) *Error {
	c := &s.claim
	_, scope, _ := bytes.Cut(c.credential, []byte("/"))
	want, ok := s.signature(r, scope, v.secrets[key].signing([8]byte(c.date[:8])))
	if !ok || subtle.ConstantTimeCompare(want[:], c.signature) != 1 {
		return mismatch()
	}
	return nil
}
