package cluster

import (
	"fmt"
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/cluster/protocol"
)

func TestPeerFrames(t *testing.T) {
	for _, f := range []peerFrame{
		{kind: peerAsk, from: 1 << 63, number: 300, epoch: 1 << 40, service: "orders", request: []byte("r")},
		{kind: peerAnswer, from: 2, number: 1, shared: cache.Shared{Kind: 3, Hit: true, TTL: time.Hour, Payload: []byte("p")}},
		{kind: peerDecline, from: 3, number: 1 << 63},
		{kind: peerAlive, from: 4, alive: []uint64{1, 200, 1 << 50}},
	} {
		b := appendPeerFrame(nil, &f)
		got, err := parsePeerFrame(b)
		if err != nil || fmt.Sprint(got) != fmt.Sprint(f) {
			t.Errorf("got %v, %v; want %v", got, err, f)
		}
		head := len(b) - len(f.request) - len(f.shared.Payload)
		for n := range head {
			if f.kind == peerAlive && n >= 10 {
				continue // a shorter list
			}
			if _, err := parsePeerFrame(b[:n]); err == nil {
				t.Errorf("%d of %d bytes of %v are valid", n, len(b), f)
			}
		}
		b[1] = 99
		if _, err := parsePeerFrame(b); err == nil {
			t.Error("an unknown kind is valid")
		}
	}
	if _, err := parsePeerFrame([]byte{peerFormat, peerAlive, 0, 0, 0, 0, 0, 0, 0, 1, 0x80}); err == nil {
		t.Error("a list with half a number is valid")
	}
	if isPeerFrame(protocol.AppendHeader(nil, 1)) {
		t.Error("frames of the protocol are taken for others")
	}
}
