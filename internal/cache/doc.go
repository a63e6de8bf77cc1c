// Package cache is the coherent core that all services of Kasoku share. It stores entries,
// invalidates them by generations, runs one fill per key at a time and applies Changes. It
// is independent of any protocol.
//
// # The fence
//
// A Tag names something that an entry depends on: an item, a partition, a table. Tags hash
// into a fixed array of generation counters. An entry records the generations of its tags
// before the origin is queried, and is served only while they are unchanged. So a write
// invalidates by incrementing a counter: O(1), however many entries depend on it, and
// without an index that could leak. Two tags that share a counter cause a needless miss,
// never a stale hit.
//
// # Life of a write
//
//  1. Begin counts the write as in flight on each of its tags and moves their
//     generations: entries cached so far are unreachable from then on.
//  2. The write is sent to the origin.
//  3. Commit moves the generations again and removes the write from the count. The
//     entries of the Change are stored only if no other write of the same tag
//     overlapped with this one.
//  4. Or Unknown: the outcome is not known (timeout, reset). The tags are put in
//     quarantine: nothing is stored under them until the origin has settled.
//
// # Life of a fill
//
//  1. Note records the generations and reports whether a write is in flight (then
//     the answer may be used by the request that started the fill, but is not
//     stored or shared) and whether there was a write lately (then the origin should
//     be queried with a strongly consistent read).
//  2. The origin is queried.
//  3. The answer is stored if no generation has moved since Note.
//
// Why a fill beside a write in flight must not be stored even though Commit will move the
// generations anyway:
//
//	W: begin, origin applies x=2 ..................... commit
//	A: strong read: 2, done
//	B:                        lookup hits x=1, stored after begin: A then B moves back in time
//
// # Several caches
//
// Other processes may write to the same origin through caches of their own. Package cluster
// then sets a Coordinator, which makes a round for each write:
//
//  1. Begin fences the tags in this cache, and the Coordinator does so in all others: there
//     the write is a Hold. If one of them is out of reach, Begin returns an error, and the
//     write must not be sent.
//  2. The write is sent to the origin, if this node has a lease just before (Write.Sendable).
//  3. Commit fences the tags that only the answer has shown in all caches. Then it ends the
//     write here, and Round.Commit ends it elsewhere, after the client was answered.
//  4. Or Unknown quarantines the tags everywhere.
//
// Invalidate is such a round for a change that has no request of its own, such as a purge.
//
// A fill may ask another cache before the origin (AskFirst): the one that owns the key, so that
// the origin is asked once for all. The answer is stored under the stamp of the fill, noted
// before. It is as good as one of the origin: the owner has a lease when it answers, so it has
// fenced each write that had ended when the fill began. The same is true of an answer that is
// stored anywhere else: a node that owns a key since lately asks the member that owned it before
// (AskStored), and a node that has joined takes over what others have stored (Warmer).
//
// A cache that other members cannot reach would not fence. So each has a lease (SetLease):
// without one it finds and stores nothing, and the others wait for its end before they write
// without this cache. A cache that was left out of writes begins a new era (Empty), and
// entries of older ones are unreachable.
//
// # Two ways to fill
//
// Space.Fill runs a fill whose answer is small and complete before anything is served, such
// as a DynamoDB item: each waiter receives the finished entry. A Group does so for several
// keys with one request to the origin. Package httpcache/flight
// streams answers: clients read a body while it arrives, and may join a flight, or see it
// fail, in the middle of the body. Package httpcache/store then uses only Note, Current and
// Store of this package, and none of Fill. Both obey the same fence.
package cache
