// Package watch follows the databases in use on all nodes, and keeps what package
// coherence has to be told of them up to date: what their feeds say, what nodes
// that do not announce a change say when they are asked for it, and who can't be
// reached.
//
// # Life of a Database
//
//  1. Use makes it, with one changes.Follower per node. Until each of them was
//     heard of nothing may be given out; until the nodes were compared nothing may
//     be kept, if there are several.
//  2. The followers tell their rows; tags move. Find is what requests call.
//  3. A node on which the database is not there is left out of it, until it is.
//     So is a node that can't be reached: the balancer says so (Up) and its feed is
//     silent. It is back when its feed has told what was missed.
//  4. Nobody has asked for it for a while, or it is nowhere: it is let go. First it
//     says no to whoever still holds it, then its tag moves, then another one can
//     take its place. Nothing that was kept under it can be found again: the next one
//     has another incarnation.
//
// # Whether there is a database
//
// Databases are created and deleted on each node apart. The word of the first node
// that is up counts: while the database is not there, nothing of it is kept or
// given out from memory, so that the requests reach that node.
package watch
