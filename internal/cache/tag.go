package cache

import "github.com/cespare/xxhash/v2"

// Tag is the hash of the name of something that entries depend on. It is the same in every
// process, so that Changes can be sent between processes.
type Tag uint64

// MaxTags is the maximum number of tags of an entry.
const MaxTags = 4

// TagOf returns the tag of a name, which must be unique among all kinds of things.
func TagOf(name []byte) Tag { return Tag(xxhash.Sum64(name)) &^ broad }

// BroadTagOf is TagOf for things that many entries depend on and that seldom move: a table,
// a whole service. Broad tags have their own counters. Otherwise every write of an item
// whose tag shares the table's counter would invalidate the whole table.
func BroadTagOf(name []byte) Tag { return Tag(xxhash.Sum64(name)) | broad }

const (
	broad      Tag = 1 << 63
	broadSlots     = 1 << 14
)
