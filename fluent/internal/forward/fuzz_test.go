//go:build go1.25

package forward

import (
	"net"
	"testing"
	"testing/synctest"
	"time"
)

// FuzzServer simulates a server that sends arbitrary data.
func FuzzServer(f *testing.F) {
	f.Add([]byte("\x81\xa3ack\xa1x"), true)
	f.Add([]byte("\x92\xa4HELO\x83\xa5nonce\xc4\x01n\xa4auth\xc4\x01a\xa9keepalive\xc2\x95\xa4PONG\xc2\xa1r\xa0\xa0"), true)
	f.Add([]byte("\xdf\xff\xff\xff\xff"), false)
	f.Fuzz(func(t *testing.T, sent []byte, key bool) {
		synctest.Test(t, func(t *testing.T) {
			o := Options{DialTimeout: time.Second, Hostname: "c"}
			if key {
				o.SharedKey = "k"
			}
			client, server := net.Pipe()
			go func() {
				_, _ = server.Write(sent)
				_ = server.Close()
			}()
			c := newConn(client, &o)
			if err := c.open(t.Context()); err != nil {
				c.Abort()
				return
			}
			if key {
				t.Errorf("a server without the key was believed: %q", sent)
			}
			for {
				if _, err := c.ReadAck(); err != nil {
					c.Abort()
					return
				}
			}
		})
	})
}
