package cluster

import (
	"testing"

	"github.com/kasoku/kasoku/internal/cluster/protocol"
)

// A frame has messages of one membership only: its header names the sender of all.
func TestFramesOfMemberships(t *testing.T) {
	o := newOutbox(nil)
	for _, from := range []protocol.Instance{1, 1, 2} {
		o.add(from, 7, &protocol.Message{Kind: protocol.Probe, Seq: uint64(from)})
	}
	var got []protocol.Instance
	for f := o.take(); f != nil; f = o.take() {
		err := protocol.Parse(f.bytes, func(from protocol.Instance, m *protocol.Message) {
			if uint64(from) != m.Seq {
				t.Errorf("a message of %d is sent as one of %d", m.Seq, from)
			}
			got = append(got, from)
		})
		if err != nil {
			t.Error(err)
		}
	}
	if len(got) != 3 {
		t.Errorf("got messages of %d, want three", got)
	}
}
