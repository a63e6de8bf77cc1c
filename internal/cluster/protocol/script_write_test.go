package protocol

import "slices"

// scriptWrite is a write with two other members: all have to acknowledge it.
func scriptWrite(t reporter) {
	s := newScript(t, true)
	s.join(others(1, 2)...)
	s.Begin(s.now, []uint64{4, 5}, nil)
	s.expect("inv 1 to 0: [4 5]")
	s.from(1, Ack, 1)
	s.from(1, Ack, 1)
	s.from(2, Ack, 2)
	s.from(3, Ack, 1)
	s.expect()
	s.from(2, Ack, 1)
	s.expect("allowed 1")
	s.from(2, Ack, 1)
	s.expect()
	s.Commit(1)
	s.expect("val 1 to 0")
	s.Commit(1)
	s.expect()
}

// scriptResend repeats an Inv to the member that has not acknowledged it.
func scriptResend(t reporter) {
	s := newScript(t, true)
	s.join(others(1, 2)...)
	s.Begin(s.now, []uint64{4}, nil)
	s.from(1, Ack, 1)
	s.pass(30*Millisecond, 1, 2)
	s.expectOnly("inv", "inv 1 to 0: [4]")
	s.pass(100*Millisecond, 1, 2)
	s.expectOnly("inv", "inv 1 to 2: [4]", "inv 1 to 2: [4]")
	s.from(2, Ack, 1)
	s.pass(200*Millisecond, 1, 2)
	s.expectOnly("inv allowed", "allowed 1")
}

// scriptLeaseAtRound completes a round without a lease.
func scriptLeaseAtRound(t reporter) {
	s := newScript(t, true)
	s.join(others(1)...)
	s.Begin(s.now, []uint64{4}, nil)
	s.wait(s.cfg.Lease)
	s.from(1, Ack, 1)
	s.expectOnly("allowed")
	s.Tick(s.now)
	s.viewed(s.item)
	s.expectOnly("allowed", "allowed 1")
}

// scriptHold begins writes without a lease: the lease is back in time for the first one.
func scriptHold(t reporter) {
	s := newScript(t, true)
	s.join(others(1)...)
	s.wait(s.cfg.Lease)
	s.Begin(s.now, []uint64{4}, nil)
	s.expect()
	s.Tick(s.now)
	s.viewed(s.item)
	s.expectOnly("inv", "inv 1 to 0: [4]")
	s.wait(s.cfg.Lease)
	s.Begin(s.now, []uint64{5}, nil)
	for range 10 {
		s.wait(s.cfg.Hold / 10)
		s.Tick(s.now)
	}
	s.expectOnly("failed allowed", "failed 2: "+ErrIsolated.Error())
	s.wait(s.cfg.Lease)
	s.Begin(s.now, []uint64{6}, nil)
	s.expect("failed 3: " + ErrIsolated.Error())
}

// scriptFormerAcks gives the place of a member that has acknowledged a write to another one.
func scriptFormerAcks(t reporter) {
	s := newScript(t, true)
	s.join(others(1, 2)...)
	s.Begin(s.now, []uint64{4}, nil)
	s.from(1, Ack, 1)
	s.change(func(v *View) {
		v.Epoch++
		v.Members = append(slices.Delete(v.Members, 0, 1), others(3)...)
	})
	s.from(2, Ack, 1)
	s.expectOnly("allowed")
	s.from(3, Ack, 1)
	s.expectOnly("allowed", "allowed 1")
}

// scriptAdopt begins a write before a node joins, and ends another one meanwhile.
func scriptAdopt(t reporter) {
	s := newScript(t, true)
	s.join(others(1)...)
	s.Begin(s.now, []uint64{4}, nil)
	s.from(1, Ack, 1)
	s.Begin(s.now, []uint64{5}, nil)
	s.skip()
	s.item.Rev++
	s.item.Epoch++
	s.item.Members = append(slices.Clone(s.item.Members), Member{Instance: 2, Joining: true})
	s.Receive(s.now, 2, &Message{Kind: Join, Epoch: s.item.Epoch, View: &s.item})
	s.expect("read", "inv 2 to 2: [5]", "open 2 to 0: [1 2]", "books to 2, serving: true: {[{101 1 [4] false []} {101 2 [5] false []}] [] 0}")
	s.from(1, Ack, 2)
	s.expect("inv 2 to 1: [5]") // it may have refused the first one
	s.from(2, Ack, 2)
	s.expectOnly("allowed", "allowed 2")
}

// scriptFence has writes of members.
func scriptFence(t reporter) {
	s := newScript(t, true)
	s.join(others(1, 2)...)
	epoch := s.item.Epoch
	inv := func(from Instance, epoch, seq, tag uint64) {
		s.Receive(s.now, from, &Message{Kind: Inv, Epoch: epoch, Seq: seq, Tags: []uint64{tag}})
	}
	inv(1, epoch, 7, 4)
	s.expect("fence 7 of 1: [4]", "ack 7 to 1")
	inv(1, epoch, 7, 4)
	s.expect("fence 7 of 1: [4]", "ack 7 to 1")
	inv(2, epoch-1, 7, 4)
	s.expect()
	inv(3, epoch, 7, 4)
	s.expect()
	inv(2, epoch, 7, 5)
	s.expect("fence 7 of 2: [5]", "ack 7 to 2")
	s.from(1, Val, 7)
	s.expect("release 7 of 1")
	s.from(1, Val, 7)
	s.expect()
	inv(2, epoch, 8, 5)
	inv(2, epoch, 9, 6)
	s.skip()
	s.Receive(s.now, 2, &Message{Kind: Open, Epoch: epoch, Seq: 8, Seqs: []uint64{7}})
	s.expect("release 8 of 2")
	s.Receive(s.now, 1, &Message{Kind: Open, Epoch: epoch, Seq: 100})
	s.expect()
	s.Receive(s.now, 2, &Message{Kind: Open, Epoch: epoch, Seq: 9})
	s.expect("release 7 of 2", "release 9 of 2")
}

// scriptPayload has a payload of a member.
func scriptPayload(t reporter) {
	s := newScript(t, true)
	s.join(others(1)...)
	for range 2 {
		s.Receive(s.now, 1, &Message{Kind: Inv, Epoch: s.item.Epoch, Seq: 7, Payload: []byte("purge")})
	}
	s.expectOnly("apply ack", "apply purge, 7 of 1")
	s.Applied(1, 7)
	s.expect("ack 7 to 1")
	s.Applied(1, 7)
	s.Applied(1, 8)
	s.expect()
}

// scriptUnknown ends writes with an unknown outcome: they are open until all members have
// acknowledged that.
func scriptUnknown(t reporter) {
	s := newScript(t, true)
	s.join(others(1, 2)...)
	s.Begin(s.now, []uint64{4}, nil)
	s.from(1, Ack, 1)
	s.from(2, Ack, 1)
	s.skip()
	s.Unknown(s.now, 1, []uint64{9})
	s.expect("unknown 1 to 0: [4 9]")
	s.pass(100*Millisecond, 1, 2)
	s.expectOnly("open", "open 1 to 0: [1]")
	s.from(1, Done, 1)
	s.pass(100*Millisecond, 1, 2)
	s.expectOnly("open unknown", "open 1 to 0: [1]", "unknown 1 to 2: [4 9]", "unknown 1 to 2: [4 9]")
	s.from(2, Done, 1)
	s.pass(100*Millisecond, 1, 2)
	s.expectOnly("open unknown", "open 1 to 0: []")

	s.Receive(s.now, 2, &Message{Kind: Inv, Epoch: s.item.Epoch, Seq: 7, Tags: []uint64{4}})
	s.skip()
	s.Receive(s.now, 2, &Message{Kind: Unknown, Epoch: s.item.Epoch, Seq: 7, Tags: []uint64{4, 9}})
	s.expect("quarantine [4 9] for 30000 ms", "release 7 of 2 in 30000 ms", "done 7 to 2")

	s.Receive(s.now, 1, &Message{Kind: Join, Epoch: s.item.Epoch})
	left := 30*Second - 300*Millisecond
	s.expect("books to 1, serving: true: " + bookText(Book{Quarantines: []Quarantine{{[]uint64{4, 9}, left}, {[]uint64{4, 9}, 30 * Second}}}))
}

// scriptManyQuarantines hands over more quarantines than a message should have.
func scriptManyQuarantines(t reporter) {
	for _, writes := range []int{maxBookTags / 2, maxBookTags/2 + 1} {
		s := newScript(t, true)
		s.join(others(1)...)
		for i := range writes {
			s.remember(s.now+Time(i), []uint64{uint64(i)}, 30*Second-Time(writes))
		}
		b := s.book(s.now)
		all := writes <= maxBookTags/2
		if all != (b.Cold == 0) || all != (len(b.Quarantines) == writes) || !all && b.Cold != 30*Second-1 {
			t.Errorf("%d writes: a book with %d quarantines, cold for %d ms", writes, len(b.Quarantines), b.Cold/Millisecond)
		}
	}
}
