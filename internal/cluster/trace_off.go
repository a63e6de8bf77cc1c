//go:build !kasokutrace

package cluster

import "github.com/kasoku/kasoku/internal/cluster/protocol"

// processTrace logs the steps of a process, but only in a build with the tag kasokutrace.
type processTrace struct{}

func (*processTrace) start(*Node, *protocol.Member, bool)                  {}
func (*processTrace) joins(protocol.Instance)                              {}
func (*processTrace) asks() (id uint64)                                    { return 0 }
func (*processTrace) reads(uint64, *protocol.View, error)                  {}
func (*processTrace) writes(protocol.Instance, *protocol.View) (id uint64) { return 0 }
func (*processTrace) wrote(uint64, error)                                  {}

// trace is called just before a write is sent. It returns true.
func (*round) trace() bool { return true }
