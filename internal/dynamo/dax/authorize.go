package dax

import (
	"time"

	"github.com/kasoku/kasoku/internal/dynamo/dax/cbor"
	"github.com/kasoku/kasoku/internal/dynamo/dax/fault"
	"github.com/kasoku/kasoku/internal/dynamo/dax/sign"
)

// authorization is the authentication state of a connection. An authorization request has no
// reply: its failure is reported to the next request.
type authorization struct {
	id        []byte        // ID of the authenticated key; empty if there is none
	claimedID []byte        // key ID in the last authorization, valid or not
	expires   time.Time     // end of validity
	keySet    uint64        // key set of the settings at the authorization
	refusal   *sign.Refusal // nil unless the last authorization failed
}

// validity is the lifetime of an authorization. Clients renew it after about half of that.
const validity = 5 * time.Minute

// maxRecordedID is the maximum length of a recorded key ID.
const maxRecordedID = 128

// authorize processes an authorization request.
func (c *conn) authorize(args []byte) {
	k, a := c.k, &c.auth
	r := cbor.NewReader(args)
	id, signature, text := r.Text(), r.Text(), r.String()
	a.claimedID = append(a.claimedID[:0], id[:min(len(id), maxRecordedID)]...)
	if k.set.Open {
		c.proved = true
		return
	}
	token := !r.Null()
	if token {
		r.Text()
	}
	if !r.Null() {
		r.Text() // the client's software, already known from the preamble
	}
	a.id = a.id[:0]
	if err := r.Close(); err != nil {
		a.refusal = &sign.Refusal{Text: "The authorization could not be read: " + err.Error()}
		return
	}
	var signed time.Time
	if signed, a.refusal = k.set.verifier.Verify(id, signature, text, token, k.now); a.refusal != nil {
		return
	}
	if signed.After(k.now) {
		signed = k.now // the client's clock is ahead
	}
	a.id = append(a.id, id...)
	a.keySet, a.expires = k.set.keySet, signed.Add(validity)
	c.proved = true
}

// admit determines the client of a request under the current settings, and checks its rate.
// It returns an error reply if the request is rejected.
func (c *conn) admit(m *method) *fault.Error {
	k, a := c.k, &c.auth
	if !m.unlimited && !c.Allow(k.set.rates, k.now) {
		c.srv.metrics.limited.Inc()
		k.line.Reason = reasonRateLimit
		return fault.New("ThrottlingException", "Rate of requests exceeds the allowed throughput.")
	}
	if e := a.check(k.set, k.now); e != nil {
		c.srv.metrics.denied.Inc()
		k.line.Reason = reasonAuthentication
		return e
	}
	var ok bool
	if k.client, ok = k.set.Service.Client(a.id); !ok {
		c.srv.metrics.denied.Inc()
		k.line.Reason = reasonAuthentication
		return fault.BadSignature("The access key %q is not one of this service's", a.id)
	}
	c.proved = true
	return nil
}

// check returns an error reply if the client must authenticate before it may send requests.
func (a *authorization) check(set *settings, now time.Time) *fault.Error {
	switch {
	case set.Open:
		return nil
	case a.refusal != nil:
		return refusalError(a.refusal)
	case len(a.id) == 0:
		return fault.Unauthenticated("Connection requires authentication: the client has sent no credentials")
	case a.keySet != set.keySet:
		return fault.Unauthenticated("Connection requires authentication: the keys have changed")
	case now.After(a.expires):
		return fault.Unauthenticated("Connection requires authentication: the last one is older than %v", validity)
	}
	return nil
}

// refusalError returns the error reply for a failed authorization.
func refusalError(r *sign.Refusal) *fault.Error {
	if r.Retryable {
		return fault.Unauthenticated("%s", r.Text)
	}
	return fault.BadSignature("%s", r.Text)
}
