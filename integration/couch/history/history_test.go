package history

import (
	"testing"

	"github.com/kasoku/kasoku/integration/fault"
)

// TestHistory checks documents and views while they are written through Kasoku to one node
// and directly to both, and feeds and nodes fail.
func TestHistory(t *testing.T) {
	s := newScene(t, Config{})
	s.healthy("nothing fails")
	for range rounds(t, 1) {
		s.proxies[0].CutFeeds()
		s.proxies[1].CutRow()
		s.healthy("feeds cut")

		s.proxies[0].Repeat(true)
		s.proxies[1].Repeat(true)
		s.healthy("feeds repeat rows")
		s.proxies[0].Repeat(false)
		s.proxies[1].Repeat(false)

		// A write that only one node has can't be read elsewhere.
		s.proxies[1].Faults.Set(reads(8, fault.Delay, fault.ErrorBefore, fault.Unavailable, fault.ResetBefore, fault.ResetAfter))
		s.stage("one node fails reads")
		s.proxies[1].Faults.Clear()

		s.proxies[0].Faults.Set(reads(8, fault.Garbage, fault.ResetBody))
		s.stage("one node sends damaged answers")
		s.proxies[0].Faults.Clear()
		s.stage("the faults end") // failed requests are still in flight
		s.healthy("nothing fails any more")

		// A write to a node that Kasoku can't reach is seen when Kasoku can reach it again,
		// or another node has the write.
		s.run.Away(true)
		s.replicated()
		s.nodes[1].Kill()
		s.healthy("the other node is dead")
		s.nodes[1].Restart(t)
		s.awaitSeen(1)
		s.run.Away(false)
		s.healthy("it is back")
	}
	s.end()
}

// TestHistoryWhileWriterFails is TestHistory while the node that takes the writes fails. Writes
// that no other node has may be lost when it is killed; all other rules apply.
func TestHistoryWhileWriterFails(t *testing.T) {
	s := newScene(t, Config{NoDeletes: true, Retried: true})
	for range rounds(t, 0) {
		plan := reads(10, fault.Delay, fault.ErrorBefore, fault.ErrorAfter, fault.Unavailable, fault.ResetBefore, fault.ResetAfter)
		plan.Only = []string{"read", "write"}
		s.proxies[0].Faults.Set(plan)
		s.stage("the writer fails")
		s.proxies[0].Faults.Clear()
		s.stage("the faults end") // failed requests are still in flight
		s.healthy("nothing fails any more")

		s.run.Losing(s.nodes[0].Kill)
		s.stage("the writer is dead")
		s.nodes[0].Restart(t)
		s.awaitSeen(0)
	}
	s.healthy("nothing fails")
	s.end()
}
