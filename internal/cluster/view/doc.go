// Package view keeps the view of a cluster, which lists its members, as one item of a table at
// a DynamoDB-compatible origin.
//
// # Reads and writes
//
// Read is a strongly consistent GetItem. Write is a PutItem with a condition: the stored
// revision is the one that the caller has read and changed, of an item with the same creator. So of several members that write
// at once one succeeds, and the others receive ErrConflict, read and decide again. After any
// other error the outcome of a write is unknown: it may take effect later, but only while
// the revision is still the same.
//
// # The item
//
// The item has the cluster's name as its key, so that several clusters may share a table. Its
// attributes can be read in a console:
//
//	cluster    S    "production"
//	format     N    1
//	rev        N    18
//	creator    S    the instance that created the item
//	epoch      N    7
//	write      S    a random text that identifies the write, for retries
//	members    L    of M: instance, node, address, zone, joining, joined, dax, services
//	suspended  L    of M: by, of
//	away       L    of M: node, since, reason
//	clean      BOOL the last member left with nothing in flight
//
// An instance is written as 16 hexadecimal digits, because some tools round long numbers, and
// a time in the form of RFC 3339. Empty values are left out. Attributes that Read does not
// use are ignored, and the next Write drops them: a version that needs them to survive
// increments the format. Read returns an error for an item of a newer format, and for an item
// that it can't parse, so that no member mistakes a damaged view for an empty cluster.
package view
