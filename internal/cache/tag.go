package cache

import "github.com/cespare/xxhash/v2"

// Tag is the hash of the name of something that entries depend on. It is the
// same in every process, so that Changes can travel.
type Tag uint64

// MaxTags is how many tags one entry can depend on.
const MaxTags = 4

// TagOf hashes a name: the bytes that tell this thing from all others, its kind
// included.
func TagOf(name []byte) Tag { return Tag(xxhash.Sum64(name)) &^ broad }

// BroadTagOf is TagOf for what much depends on and what is seldom moved: a table,
// a whole service. Such tags have counters apart from all others; else, each time
// that an item is written whose tag happens to share the table's counter, the
// whole table would be out of reach.
func BroadTagOf(name []byte) Tag { return Tag(xxhash.Sum64(name)) | broad }

const (
	broad      Tag = 1 << 63
	broadSlots     = 1 << 14
)
