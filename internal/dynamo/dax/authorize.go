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
	id      []byte        // of the key; empty for nothing proved
	name    []byte        // of the key that was named last, proved or not
	until   time.Time     // counts for as long
	keys    uint64        // of the settings under which it was proved
	refusal *sign.Refusal // nil unless the last proof was none
}

// validity is how long a signature counts. Clients sign anew after about half of that.
const validity = 5 * time.Minute

// maxName is how much of a key's id is recorded.
const maxName = 128

// authorize takes a client's proof of who it is.
func (c *conn) authorize(args []byte) {
	k, a := c.k, &c.auth
	r := cbor.Over(args)
	id, signature, text := r.Text(), r.Text(), r.String()
	a.name = append(a.name[:0], id[:min(len(id), maxName)]...)
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
	a.keys, a.until = k.set.keys, signed.Add(validity)
	c.proved = true
}

// admit finds out who asks for a method, under the settings in force, and whether that is
// not too often. It returns why not.
func (c *conn) admit(m *method) *fault.Error {
	k, a := c.k, &c.auth
	if !m.free && !c.inTime() {
		c.srv.metrics.limited.Inc()
		k.line.Reason = reasonRateLimit
		return fault.New("ThrottlingException", "Rate of requests exceeds the allowed throughput.")
	}
	if e := a.lacks(k.set, k.now); e != nil {
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

// lacks says what a client has to prove before it may ask for anything.
func (a *authorization) lacks(set *settings, now time.Time) *fault.Error {
	switch {
	case set.Open:
		return nil
	case a.refusal != nil:
		return refusal(a.refusal)
	case len(a.id) == 0:
		return fault.Unauthenticated("Connection requires authentication: the client has sent no credentials")
	case a.keys != set.keys:
		return fault.Unauthenticated("Connection requires authentication: the keys have changed")
	case now.After(a.until):
		return fault.Unauthenticated("Connection requires authentication: the last one is older than %v", validity)
	}
	return nil
}

// inTime says whether the client may ask once more.
func (c *conn) inTime() bool {
	rates := c.k.set.rates
	if !rates.Bound() || !c.client.IsValid() {
		return true
	}
	if c.rates != rates {
		c.rates, c.limiter = rates, rates.Of(c.client.Addr(), c.k.now)
	}
	return c.limiter.AllowN(c.k.now, 1)
}

// refusal is what the client is told of a proof that was none.
func refusal(r *sign.Refusal) *fault.Error {
	if r.Again {
		return fault.Unauthenticated("%s", r.Text)
	}
	return fault.BadSignature("%s", r.Text)
}
