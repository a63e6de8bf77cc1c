package http1

import (
	"net/netip"
	"testing"

	"pgregory.net/rapid"
)

// TestIPv6AsNetip compares with package netip for random addresses and similar texts.
func TestIPv6AsNetip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOfN(rapid.RuneFrom([]rune("0123:::..af")), 0, 24, -1).Draw(t, "address")
		if rapid.Bool().Draw(t, "an address") {
			var b [16]byte
			for i := range b {
				b[i] = rapid.SampledFrom([]byte{0, 0, 0, 1, 0xff}).Draw(t, "byte")
			}
			text = netip.AddrFrom16(b).String()
		}
		a, err := netip.ParseAddr(text)
		if got, want := isIPv6([]byte(text)), err == nil && a.Is6(); got != want {
			t.Errorf("%q: got %v; want %v", text, got, want)
		}
		if got, want := isIPv4([]byte(text)), err == nil && a.Is4(); got != want {
			t.Errorf("%q as IPv4: got %v; want %v", text, got, want)
		}
	})
}
