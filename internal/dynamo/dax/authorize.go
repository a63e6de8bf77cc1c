package dax

import (
	"time"

	"github.com/kasoku/kasoku/internal/dynamo/dax/cbor"
	"github.com/kasoku/kasoku/internal/dynamo/dax/fault"
	"github.com/kasoku/kasoku/internal/dynamo/dax/sign"
)

// authorization is what a connection's client has proved lately. Proving is not answered:
// what came of it the next request is told.
type authorization struct {
	id        []byte        // of the key; empty for nothing proved
	claimedID []byte        // of the key that was named last, proved or not
	expires   time.Time     // counts for as long
	keySet    uint64        // of the settings under which it was proved
	refusal   *sign.Refusal // nil unless the last proof was none
}

// validity is how long a signature counts. Clients sign anew after about half of that.
const validity = 5 * time.Minute

// maxRecordedID is how much of a key's id is recorded.
const maxRecordedID = 128

// authorize takes a client's proof of who it is.
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
		r.Text() // the client's software, which the preamble has told better
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

// admit finds out who asks for a method, under the settings in force, and whether that is
// not too often. It returns why not.
func (c *conn) admit(m *method) *fault.Error {
	k, a := c.k, &c.auth
	if !m.unlimited && !c.allowRequest() {
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

// check says what a client has to prove before it may ask for anything.
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

// allowRequest says whether the client may ask once more.
func (c *conn) allowRequest() bool {
	rates := c.k.set.rates
	if !rates.Bound() || !c.client.IsValid() {
		return true
	}
	if c.rates != rates {
		c.rates, c.limiter = rates, rates.Of(c.client.Addr(), c.k.now)
	}
	return c.limiter.AllowN(c.k.now, 1)
}

// refusalError is what the client is told of a proof that was none.
func refusalError(r *sign.Refusal) *fault.Error {
	if r.Retryable {
		return fault.Unauthenticated("%s", r.Text)
	}
	return fault.BadSignature("%s", r.Text)
}
