package cluster

import (
	"testing"

	"github.com/kasoku/kasoku/internal/cluster/protocol"
)

func TestState(t *testing.T) {
	for want, all := range map[string][]Status{
		"serving":   {{Mode: protocol.In, Serving: true}},
		"suspended": {{Mode: protocol.In, Serving: true, Suspended: true}},
		"joining":   {{Mode: protocol.Joining}, {Mode: protocol.Probing}},
		"leaving":   {{Mode: protocol.Leaving}, {Mode: protocol.Left}},
		"isolated": {
			{Mode: protocol.Out}, {Mode: protocol.In}, {Mode: protocol.In, Suspended: true},
			{Mode: protocol.Probing, Obstacle: "member b can't be reached"},
		},
	} {
		for _, s := range all {
			if got := s.State(); got != want {
				t.Errorf("%+v: got %s, want %s", s, got, want)
			}
		}
	}
}
