// Package protocol is the logic of a cluster of caches before one origin, as a state machine
// without a clock, a goroutine or a network. Events are method calls with the present time;
// what is to be done is a call of the [Host].
//
// # A write
//
// The node that has a client's write is its coordinator. It sends INV with the tags to all
// other members, which make everything under these tags unreachable, keep them fenced, and
// acknowledge. When all have acknowledged and the coordinator has a lease, the origin is
// asked. VAL then ends the fences. So no member serves the old value from the moment at which
// the origin may have the new one:
//
//	asking ---- all acknowledged, lease ----> allowed ---- Commit ----> (ended: VAL)
//	   |                                         |  \
//	   | Abort                                   |   Extend: further tags of the answer
//	   v                                         v    v
//	(ended: VAL)                    Unknown -> unknown <-- Unknown -- extending -- all acknowledged
//	                                             |
//	                                  all have acknowledged the quarantine
//	                                             v
//	                                          (ended)
//
// # Membership
//
// The [View] is one value in a store outside of the members. It changes by conditional writes and
// is read with linearizable reads. A read that shows a node as a member, and not suspended, is a
// proof. A node serves from its cache only while its newest proof is younger than
// Config.Lease; the proof is dated before the read was sent.
//
//	out ---- members reached ----> probing ---- view written ----> joining
//	 ^                                                                |
//	 |                                       all members have handed over their books
//	 |                                                                v
//	 +---------- the view does not have the node ------------------- in ---- Leave ----> leaving ----> left
//
// A member that does not acknowledge, or is silent, is suspended by a mark in the view: its
// lease ends, because a suspended member's reads prove nothing. One Config.Wait later it is
// taken out, if it has not answered until then. Its open writes are put in quarantine.
//
// The specification in specs/ has the same rules, and the reason for each.
package protocol
