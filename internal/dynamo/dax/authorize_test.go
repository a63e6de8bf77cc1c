package dax

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kasoku/kasoku/internal/dynamo/accel"
	"github.com/kasoku/kasoku/internal/dynamo/dax/cbor"
	"github.com/kasoku/kasoku/internal/dynamo/sigv4"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// authorizeCall returns an authorizeConnection as clients send it, signed at a time.
func authorizeCall(id, secret string, at time.Time) string {
	stamp := at.UTC().Format("20060102T150405Z")
	day := stamp[:8]
	nothing := sha256.Sum256(nil)
	canonical := sha256.Sum256(fmt.Appendf(nil, "POST\n/\n\nhost:dax.amazonaws.com\nx-amz-date:%s\n\nhost;x-amz-date\n%x", stamp, nothing))
	text := fmt.Sprintf("AWS4-HMAC-SHA256\n%s\n%s/us-west-2/dax/aws4_request\n%x", stamp, day, canonical)
	key := []byte("AWS4" + secret)
	for _, part := range []string{day, "us-west-2", "dax", "aws4_request", text} {
		h := hmac.New(sha256.New, key)
		h.Write([]byte(part))
		key = h.Sum(nil)
	}
	b := cbor.AppendInt(cbor.AppendUint(nil, serviceID), idAuthorizeConnection)
	b = cbor.AppendText(cbor.AppendText(b, id), hex.EncodeToString(key))
	b = cbor.AppendNull(cbor.AppendBytes(b, []byte(text)))
	return hex.EncodeToString(cbor.AppendText(b, "DaxGoClient-1.0.0"))
}

// withKeys configures a server with three keys, and a fourth that its service doesn't have.
func withKeys(t testing.TB) func(*Config) {
	all := []wire.Access{wire.Read, wire.Write, wire.Admin}
	return func(c *Config) {
		c.Open = false
		c.Keys = []sigv4.Key{{ID: "FULL", Secret: "one"}, {ID: "SOME", Secret: "two"}, {ID: "GONE", Secret: "three"}, {ID: "READ", Secret: "four"}}
		c.Service = newService(t, []accel.Key{
			{ID: "FULL", Secret: "one", Tables: []string{"*"}, Allow: all},
			{ID: "SOME", Secret: "two", Tables: []string{"Tab1"}, Allow: []wire.Access{wire.Write}},
			{ID: "READ", Secret: "four", Tables: []string{"*"}, Allow: []wire.Access{wire.Read}},
		})
	}
}

const (
	askTab1 = "013a2c43e27e4454616231"
	askTab2 = "013a2c43e27e4454616232"
)

var unauthenticated, badSignature = []int64{4, 23, 31, 33}, []int64{4, 23, 31, 32}

func TestAuthorize(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, withKeys(t))
		c := r.hello("Go v1")
		for _, request := range []string{askEndpoints, askTab1, askEcho + "4101", "013a495927bb8161", "011a27f9bd7102"} {
			if request == "013a495927bb8161" {
				request += "61"
			}
			c.expectError(request, "requires authentication", unauthenticated...)
		}
		c.send(authorizeCall("FULL", "one", time.Now()) + askEcho + "4101")
		if got := c.reply(2); got != "804101" {
			t.Errorf("got the replies %s", got)
		}
		c.expect(askTab2, "80 a2 62706b 6153 62736b 614e")
		c.expect(askEcho+"4102", "804102")

		c.send(authorizeCall("FULL", "two", time.Now()))
		c.expectSilence() // it has no reply
		c.expectError(askEcho+"4101", "check the secret", badSignature...)
		c.expectError(askEcho+"4101", "check the secret", badSignature...)
		c.expectError(authorizeCall("OTHER", "one", time.Now())+askEcho+"4101", `"OTHER" is not one`, badSignature...)
		c.expectError(authorizeCall("FULL", "one", time.Now().Add(-6*time.Minute))+askEcho+"4101", "check the client's clock", unauthenticated...)
		c.expectError("011a58c2336b 01 02 03 04 05"+askEcho+"4101", "could not be read", badSignature...)
		c.expectError(strings.Replace(authorizeCall("FULL", "one", time.Now()), "f671", "616171", 1)+askEcho+"4101", "session token", badSignature...)
		c.expect(authorizeCall("FULL", "one", time.Now())+askEcho+"4103", "804103")

		c.expectError(authorizeCall("GONE", "three", time.Now())+askEcho+"4103", `"GONE" is not one of this service's`, badSignature...)
		if n := r.srv.metrics.denied.Value(); n != 12 {
			t.Errorf("%d requests were counted as denied", n)
		}
	})
}

// TestAuthorizationExpires checks that the validity of an authorization begins when it was
// signed.
func TestAuthorizationExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, withKeys(t))
		c := r.hello("Go v1")
		time.Sleep(time.Until(time.Now().Truncate(time.Second).Add(time.Second))) // signatures have a resolution of one second
		c.expect(authorizeCall("FULL", "one", time.Now().Add(-4*time.Minute))+askEcho+"4101", "804101")
		time.Sleep(time.Minute)
		c.expect(askEcho+"4101", "804101")
		time.Sleep(time.Second)
		c.expectError(askEcho+"4101", "older than 5m", unauthenticated...)
		c.expect(authorizeCall("FULL", "one", time.Now().Add(4*time.Minute))+askEcho+"4101", "804101")
		time.Sleep(validity)
		c.expect(askEcho+"4101", "804101")
		time.Sleep(time.Second)
		c.expectError(askEcho+"4101", "older than 5m", unauthenticated...)
	})
}

// TestAccessLogOfRejections checks the reasons and principals of rejected requests in the access
// log.
func TestAccessLogOfRejections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, withKeys(t))
		c := r.hello("Go v1")
		record := func(decision telemetry.Decision, reason, err, principal string) {
			t.Helper()
			rec := r.log.wait(1)[0]
			if rec.Decision != decision || rec.Reason != reason || !strings.Contains(rec.Error, err) || err == "" && rec.Error != "" || string(rec.Principal) != principal {
				t.Errorf("record: got %v, %q, %q, %q; want %v, %q, %q, %q", rec.Decision, rec.Reason, rec.Error, rec.Principal, decision, reason, err, principal)
			}
		}
		c.expectError(askTab1, "requires authentication", unauthenticated...)
		record(telemetry.Local, "authentication", "the client has sent no credentials", "")
		c.expectError(authorizeCall("SOME", "wrong", time.Now())+askTab1, "check the secret", badSignature...)
		record(telemetry.Local, "authentication", "check the secret", "SOME")
		c.send(authorizeCall("READ", "four", time.Now()))
		c.expect(askTab2, "80 a2 62706b 6153 62736b 614e")
		record(telemetry.Local, "", "", "READ")
		c.send(authorizeCall("SOME", "two", time.Now()))
		c.expectError(askTab2, "is not authorized", 4, 37, 38, 42)
		record(telemetry.Local, "permission", "AccessDeniedException", "SOME")
	})
}

// TestReloadKeys changes the keys while a connection is open.
func TestReloadKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, withKeys(t))
		c := r.hello("Go v1")
		c.expect(authorizeCall("FULL", "one", time.Now())+askEcho+"4101", "804101")
		r.cfg.Limits.RequestBytes = 1000
		r.srv.Configure(r.cfg)
		c.expect(askEcho+"4102", "804102") // the same keys
		r.cfg.Keys = []sigv4.Key{{ID: "FULL", Secret: "new"}}
		r.srv.Configure(r.cfg)
		c.expectError(askEcho+"4103", "keys have changed", unauthenticated...)
		c.expectError(authorizeCall("FULL", "one", time.Now())+askEcho+"4103", "check the secret", badSignature...)
		c.expect(authorizeCall("FULL", "new", time.Now())+askEcho+"4103", "804103")
		r.cfg.Keys = nil
		r.srv.Configure(r.cfg)
		c.expectError(authorizeCall("FULL", "new", time.Now())+askEcho+"4103", "not one of this service's", badSignature...)
		r.cfg.Open, r.cfg.Service = true, newService(t, nil)
		r.srv.Configure(r.cfg)
		c.expect(askEcho+"4104", "804104")
	})
}

// TestOpen checks that a server without keys accepts every client.
func TestOpen(t *testing.T) {
	loopback(t, nil, func(t *testing.T, r *rig) {
		c := r.hello("Python")
		c.expect("011a58c2336b 01 02 f6 04 80"+askEcho+"4101", "804101")
		c.expect(authorization1+askEcho+"4102", "804102")
	})
}

func TestKeySchema(t *testing.T) {
	loopback(t, nil, func(t *testing.T, r *rig) {
		c := r.hello("JavaScript v2")
		c.expect(askTab1, "80 a1 62706b 6153")
		c.expect(askTab2, "80 a2 62706b 6153 62736b 614e")
		c.expect("013a2c43e27e6454616232", "80 a2 62706b 6153 62736b 614e") // as a text
		c.expect(askTab1, "80 a1 62706b 6153")
		c.expectError("013a2c43e27e4454616239", "Requested resource not found", 4, 37, 38, 39, 41)
		c.expectError("013a2c43e27e4441776179", "could not be determined", 1, 37, 38, 39, 47)
		c.expectError("013a2c43e27e40", "TableName", 4, 37, 38, 39, 46)
		c.expectError("013a2c43e27e590100"+zeros(256), "TableName", 4, 37, 38, 39, 46)
		c.expectError("013a2c43e27e01", "could not be read", 4, 37, 38, 39, 46)
	})
}

// TestKeySchemaPermission uses a key with write permission for one table.
func TestKeySchemaPermission(t *testing.T) {
	r := newRig(t, withKeys(t))
	c := r.hello("Python")
	c.expect(authorizeCall("SOME", "two", time.Now())+askTab1, "80 a1 62706b 6153")
	c.expectError(askTab2, "key SOME is not authorized to perform: dynamodb:defineKeySchema on table Tab2", 4, 37, 38, 42)
}

// TestListPermission requests the number of a list with a read-only key.
func TestListPermission(t *testing.T) {
	r := newRig(t, withKeys(t))
	const number, names = "013a495927bb 81 6161", "011a27f9bd71"
	reader := r.hello("Python")
	reader.expectError(authorizeCall("READ", "four", time.Now())+number, "key READ is not authorized to write items", 4, 37, 38, 42)
	r.hello("Python").expect(authorizeCall("SOME", "two", time.Now())+number, "80 02")
	reader.expect(names+"02", "80 81 6161")
}
