//go:build go1.25

package forwardtest

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestStallsUntilClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := Detached(Options{})
		r.Behave(Behaviour{Stall: true})
		c, err := r.Dial(t.Context(), "", "")
		if err != nil {
			t.Fatal(err)
		}
		_ = c.SetWriteDeadline(time.Now().Add(time.Hour))
		if n, err := c.Write([]byte{0x93}); n != 0 || err == nil {
			t.Errorf("wrote %d bytes, %v, to a server that does not read", n, err)
		}
		r.Close()
		if _, err := r.Dial(t.Context(), "", ""); err == nil {
			t.Error("dialled a closed receiver")
		}
	})
}

func TestAckIsDelayed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := Detached(Options{})
		defer r.Close()
		r.Script(Behaviour{AckDelay: time.Minute})
		c, _ := r.Dial(t.Context(), "", "")
		start := time.Now()
		send(t, c, packed(unhex(t, entry), "chunk", "AA=="))
		expect(t, c, unhex(t, "81 a3 61 63 6b a4 41 41 3d 3d"))
		if late := time.Since(start); late != time.Minute {
			t.Errorf("the acknowledgement arrived after %v", late)
		}
	})
}
