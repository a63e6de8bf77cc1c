// Package coherence decides when a copy of what a CouchDB node has answered may be
// kept and when it may still be given out. It opens no connection and has no
// clock: it is told what the nodes' feeds say, what was written, and what time it
// is.
//
// # Two halves
//
// Tags fence copies, as in package cache: a copy depends on a few tags, which move
// with each change that is known. That closes the race of a slow read with a
// change that overtakes it.
//
// It does not close this one, which needs two nodes:
//
//	A announces a change; its tags move, the copy is out of reach
//	a client asks; the miss goes to B, to where the change is not replicated yet
//	B's old answer is stored, and no event will ever come to remove it
//
// So a Database also knows, for each change, which nodes have it. An answer is kept
// only from a node that lacks nothing of what the answer could depend on.
//
// # Life of a change
//
//  1. It becomes known: by a row of a node's feed or by the answer to a write
//     through Kasoku. Tags move. The node has it; the others lack it.
//  2. The others get it by replication, and their feeds show the same revision.
//     Each of them may answer again once it lacks nothing else.
//  3. All have it: it is forgotten when all have announced it, so that a row that
//     was only late does not pass for news.
//  4. Or a node does not announce it, since it announced something newer instead,
//     or before the feed was opened. After a while Doubts names it, whoever keeps
//     the connections asks the node with _revs_diff, and Found tells the outcome.
package coherence
