package disk

import "container/list"

// queue is the eviction queue of a tier (SIEVE): the hand moves from the oldest to the
// newest body and evicts the first one that was not read since the hand passed. So bodies
// read only once are evicted before bodies read repeatedly. It is guarded by the tier's mu.
type queue struct {
	list  list.List // the newest first
	hand  *list.Element
	bytes int64
}

func (q *queue) add(f *File) {
	f.element = q.list.PushFront(f)
	q.bytes += f.size
}

func (q *queue) remove(f *File) {
	if f.element == nil {
		return
	}
	if q.hand == f.element {
		q.hand = f.element.Prev()
	}
	q.list.Remove(f.element)
	f.element = nil
	q.bytes -= f.size
}

// resize sets a file's size, if it is in the queue.
func (q *queue) resize(f *File, size int64) {
	if f.element != nil {
		q.bytes += size - f.size
	}
	f.size = size
}

// victim removes and returns the next body to evict, of part, or of all parts if part is
// nil. It returns nil if there is none.
func (q *queue) victim(part *Part) *File {
	var last *File
	for range 2*q.list.Len() + 1 { // the first round clears all marks, so the second normally finds one
		if q.hand == nil {
			q.hand = q.list.Back()
		}
		if q.hand == nil {
			return nil
		}
		f := q.hand.Value.(*File)
		if part == nil || f.part == part {
			last = f
			if !f.read.Swap(false) {
				break
			}
		}
		q.hand = q.hand.Prev()
	}
	if last != nil {
		q.remove(last)
	}
	return last
}
