// Package follow follows databases on all CouchDB nodes of a service, and decides from
// their feeds which cached answers are valid. It also keeps the replications between
// the nodes running. Connections to the nodes are passed in by the caller.
//
//   - A Follower reads the _changes feed of one database on one node, and resumes it
//     after failures.
//   - A tracker records which nodes have which change. It opens no connection and has
//     no clock.
//   - A Database combines the followers and the tracker of one database, and queries
//     nodes that have not announced a change in time. A Table holds all databases in use.
//   - A Keeper keeps the configured replications running.
//
// # Tags and nodes
//
// Tags fence copies, as in package cache: a copy depends on a few tags, which move with
// each change. That closes the race between a slow read and a change that overtakes it.
// Tags alone don't close this race, which needs two nodes:
//
//	A announces a change; its tags move, and the copy is out of reach.
//	A client's miss is sent to B, where the change is not replicated yet.
//	B's old answer is stored, and no later event removes it.
//
// So the tracker also records which nodes have each change. An answer is cached only if
// its node lacks nothing that the answer may depend on.
//
// # Life of a change
//
//  1. A row of a node's feed or the answer to a write through Kasoku reveals it. The tags
//     move. That node has the change, the others lack it.
//  2. Replication brings it to the others, and their feeds announce the same revision.
//     Answers of a node are cached again once it lacks nothing else.
//  3. When all nodes have announced it, it is dropped. Until then a late row of it is not
//     mistaken for a new change.
//  4. A node may never announce it, for example because it announced a newer revision
//     instead, or because its feed was opened later. After a timeout the node is queried
//     with _revs_diff.
//
// # Life of a Database
//
//  1. Table.Use opens it, with one Follower per node. Nothing is served from memory until
//     all nodes have been heard from. With several nodes, nothing is cached until they
//     have been compared.
//  2. The followers report changes; tags move. Requests call Table.Find.
//  3. A node without the database is left out until the database exists there. A node is
//     also left out while the balancer reports it down (Table.SetUp) and its feed is silent.
//     It is included again when its feed has delivered the missed changes.
//  4. If no request uses the database for a while, or no node has it, it is released: first
//     it refuses further use, then its tag moves, and then another Database may take its
//     place. Its copies can't be found again, since the next one has another incarnation.
//
// # Existence
//
// Databases are created and deleted on each node separately. The first node that is up
// decides: while it does not have the database, nothing of the database is cached or
// served from memory, so that requests reach that node.
package follow
