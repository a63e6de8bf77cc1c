package dax

import (
	"encoding/hex"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kasoku/kasoku/internal/dynamo/sigv4"
)

// TestItemExpiresDuringRequest begins a request for a cached item, and completes it after the
// item has expired.
func TestItemExpiresDuringRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		const found, asked = "80 bf 00 49 02182a65416c696365 ff", "GetItem " + keyAlice + "}"
		s.origin.setAnswer(200, alice)
		s.expect(getAlice+"bfff", asked, found)
		s.expect(getAlice+"bfff", "", found)
		time.Sleep(59 * time.Second) // of a minute
		s.c.send(getAlice)
		time.Sleep(2 * time.Second)
		s.expect("bfff", asked, found)
	})
}

// TestSlowRequestHasFullTimeout sends a request over a longer time than the reply's timeout.
func TestSlowRequestHasFullTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		c := r.hello("Go v1")
		c.send(askWait[:2])
		time.Sleep(45 * time.Second)
		begin := time.Now()
		c.expect(askWait[2:], "80f6")
		if err := <-r.slow.ended; err != errTooLate || time.Since(begin) != 30*time.Second {
			t.Errorf("the request ended with %v after %v", err, time.Since(begin))
		}
	})
}

// TestReloadDuringRequest changes the keys in the middle of a request.
func TestReloadDuringRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, withKeys(t))
		c := r.hello("Go v1")
		c.expect(authorizeCall("FULL", "one", time.Now())+askEcho+"4101", "804101")
		c.send(askEcho)
		synctest.Wait()
		r.cfg.Keys = []sigv4.Key{{ID: "FULL", Secret: "new"}}
		r.srv.Configure(r.cfg)
		c.expectError("4102", "keys have changed", unauthenticated...)
	})
}

// TestLargeUnauthenticatedRequest checks that an unauthenticated client's large request gets
// no large buffer.
func TestLargeUnauthenticatedRequest(t *testing.T) {
	large := askEcho + "59ffff" + hex.EncodeToString(make([]byte, 0xffff))
	r := newRig(t, withKeys(t))
	c := r.hello("Go v1")
	go func() { _, _ = c.nc.Write(unhex(t, large)) }()
	if codes, text := c.failure(); !equal(codes, unauthenticated) {
		t.Errorf("got the error %v %v", codes, text)
	}
	if n := r.srv.room.used.Load(); n != 0 {
		t.Errorf("%d bytes of the budget are used", n)
	}
	c.expectEnd()

	c = r.hello("Go v1")
	go func() { _, _ = c.nc.Write(unhex(t, authorizeCall("FULL", "one", time.Now())+large)) }()
	if n := c.largeReply(0xffff); n != 0xffff {
		t.Errorf("an authenticated client got a reply of %d bytes", n)
	}
}
