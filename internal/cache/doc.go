// Package cache is the coherent core that every service of Kasoku shares. It
// stores entries, keeps them apart by generations, lets one fill per key run at
// a time and takes Changes. It knows no protocol.
//
// # The fence
//
// A Tag names something that an entry depends on: an item, a partition, a table.
// Tags hash into one fixed array of generation counters. An entry notes the
// generations of its tags before its origin was asked, and is served only while
// they still stand there. So a write invalidates by counting up: O(1), however
// many entries depend on it, and with no index that could leak. Two tags that
// share a counter cost a needless miss, never a stale hit.
//
// # Life of a write
//
//  1. Begin counts the write as in flight on each of its tags and moves their
//     generations: what is cached is out of reach from now on.
//  2. The origin is asked.
//  3. Commit moves the generations again and takes the write out of the count.
//     Entries that the Change brings are stored only if no other write of the
//     same tag overlapped with this one.
//  4. Or Unknown: the outcome is not known (timeout, reset). The tags are put in
//     quarantine: nothing is stored under them until the origin has settled.
//
// # Life of a fill
//
//  1. Note takes the generations down and tells whether a write is in flight
//     (then the answer may be used by whoever asked, but not stored nor shared)
//     and whether a write was there lately (then the origin should be asked for
//     a strongly consistent read).
//  2. The origin is asked.
//  3. The answer is stored if no generation has moved since Note.
//
// Why a fill beside a write in flight must not be stored even though Commit will
// move the generations anyway:
//
//	W: begin, origin applies x=2 ..................... commit
//	A: strong read: 2, done
//	B:                        lookup hits x=1, stored after begin: A then B goes back in time
package cache
