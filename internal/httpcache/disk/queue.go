package disk

import "container/list"

// queue is the order in which bodies make room (SIEVE): the hand goes from the
// oldest to the newest and takes the first that nobody has read since it came by
// last. So what is read once and no more leaves before what is read again. The
// tier's mu guards it.
type queue struct {
	list  list.List // the newest first
	hand  *list.Element
	bytes int64
}

func (q *queue) add(f *File) {
	f.at = q.list.PushFront(f)
	q.bytes += f.size
}

func (q *queue) remove(f *File) {
	if f.at == nil {
		return
	}
	if q.hand == f.at {
		q.hand = f.at.Prev()
	}
	q.list.Remove(f.at)
	f.at = nil
	q.bytes -= f.size
}

// resize counts a file's new size, if it is in the queue.
func (q *queue) resize(f *File, size int64) {
	if f.at != nil {
		q.bytes += size - f.size
	}
	f.size = size
}

// victim takes out who makes room: one of part, or of all if that is nil. There
// must be one, or it returns nil.
func (q *queue) victim(part *Part) *File {
	var last *File
	for range 2*q.list.Len() + 1 { // by the second round nobody was read since, as a rule
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
