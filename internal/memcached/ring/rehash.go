package ring

import "strconv"

// rehashes is the total number of servers that Cache::Memcached tries for a key.
const rehashes = 20

// FindUp returns the server of key among the servers for which up returns true. Without
// Config.Rehash only Find's server is considered; with it further ones are, in the order of
// Cache::Memcached. The result is -1 if none is up. Writers that rehash put keys elsewhere
// while a server is down; a reader that does not do the same misses them, and vice versa.
func (r *Ring) FindUp(key []byte, up func(server int) bool) int {
	if !r.rehash {
		if s := r.Find(key); up(s) {
			return s
		}
		return -1
	}
	var room [textRoom]byte
	text := r.text.of(key, room[:0])
	sum := r.hash.sum(text)
	for try := 1; try <= rehashes; try++ {
		if s := int(r.slots[sum%uint32(len(r.slots))]); up(s) {
			return s
		}
		var again [textRoom + 2]byte
		sum += r.hash.sum(append(strconv.AppendInt(again[:0], int64(try), 10), text...))
	}
	return -1
}
