package cluster

import (
	"context"
	"encoding/binary"
	"log/slog"
	"sync"
	"time"

	"github.com/kasoku/kasoku/internal/cluster/protocol"
)

// A node lists its hottest entries for another one with requests of kind hottestKind: as questions,
// in pages. The list is made for the first page, and kept until the last one was sent.

const hottestKind = "hottest"

const (
	// pageBytes is the size from which a page has no further questions.
	pageBytes = 64 << 10
	// maxListed is the maximum number of entries that a node lists.
	maxListed = 1 << 20
	// maxListBytes is the maximum size of a list.
	maxListBytes = 16 << 20
	// maxLists is the maximum number of lists that are kept at a time.
	maxLists = 8
	// listFor is how long a list is kept after its latest page was sent.
	listFor = time.Minute
)

// hot has the lists of this node's hottest entries for others.
type hot struct {
	mu    sync.Mutex // leaf
	lists map[protocol.Instance]*hotList
}

// hotList is a list for another node.
type hotList struct {
	pages [][]byte
	end   *time.Timer // drops it
}

// hotPage is a part of a list.
type hotPage struct {
	follow    uint64 // the number of pages that follow
	service   string
	questions [][]byte
}

// appendHottestRequest appends a request for a page: the sender, the page's number, and for the
// first page the maximum number of entries and the only service to list, "" for all.
func appendHottestRequest(dst []byte, from protocol.Instance, page, limit int, service string) []byte {
	dst = binary.BigEndian.AppendUint64(dst, uint64(from))
	dst = binary.AppendUvarint(dst, uint64(page))
	dst = binary.AppendUvarint(dst, uint64(limit))
	return append(dst, service...)
}

// parseHotPage parses a page: the number of pages that follow, the service, its questions. The
// result refers to the frame.
func parseHotPage(b []byte) (p hotPage, err error) {
	r := reader{rest: b}
	p.follow = r.number()
	p.service = string(r.bytes())
	p.questions = r.list()
	if r.bad {
		return p, errStoredFrame
	}
	return p, nil
}

// answerHottest answers a request for a page. The reply is empty if there is no such page or other
// nodes have lists already.
func (n *Node) answerHottest(_ context.Context, request []byte) []byte {
	if len(request) < 8 {
		n.log.Warn("a request of another node is invalid", slog.Any("error", errStoredFrame))
		return nil
	}
	from := protocol.Instance(binary.BigEndian.Uint64(request))
	r := reader{rest: request[8:]}
	page, limit := r.number(), r.number()
	n.mu.Lock()
	member := n.machine.View().Find(from) != nil
	n.mu.Unlock()
	if r.bad || !member {
		return nil
	}
	if page == 0 && !n.makeList(from, int(min(limit, maxListed)), string(r.rest)) {
		return nil
	}
	h := &n.hot
	h.mu.Lock()
	defer h.mu.Unlock()
	list := h.lists[from]
	if list == nil || page >= uint64(len(list.pages)) {
		return nil
	}
	follow := uint64(len(list.pages)-1) - page
	if follow == 0 {
		list.end.Stop()
		delete(h.lists, from)
	} else {
		list.end.Reset(listFor)
	}
	return append(binary.AppendUvarint(nil, follow), list.pages[page]...)
}

// makeList makes the list for another node, in the place of a former one. It returns false if there
// are too many.
func (n *Node) makeList(from protocol.Instance, limit int, service string) bool {
	h := &n.hot
	h.mu.Lock()
	if h.lists == nil {
		h.lists = make(map[protocol.Instance]*hotList)
	}
	if old := h.lists[from]; old != nil {
		old.end.Stop()
	} else if len(h.lists) >= maxLists {
		h.mu.Unlock()
		return false
	}
	list := &hotList{}
	list.end = time.AfterFunc(listFor, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.lists[from] == list {
			delete(h.lists, from)
		}
	})
	h.lists[from] = list // no other node takes its place
	h.mu.Unlock()

	pages := n.hottest(limit, service)
	h.mu.Lock()
	defer h.mu.Unlock()
	list.pages = pages
	return true
}

// hottest returns the pages of a list of the given number of entries at most, as parseHotPage reads
// them after the first number. The pages of the services alternate.
func (n *Node) hottest(limit int, service string) (pages [][]byte) {
	var lists [][][]byte // the pages of each service
	size, longest := 0, 0
	for _, name := range n.cache.Warmable() {
		w := n.cache.Warmer(name)
		if w == nil || service != "" && service != name {
			continue
		}
		begin := func() []byte { return appendBytes(nil, []byte(name)) }
		var list [][]byte
		page := begin()
		empty := len(page)
		w.Hottest(limit, func(question []byte) bool {
			if len(question) > maxPeerRequest {
				return true
			}
			if page = appendBytes(page, question); len(page) >= pageBytes {
				list, size, page = append(list, page), size+len(page), begin()
			}
			return size < maxListBytes
		})
		if len(page) > empty {
			list, size = append(list, page), size+len(page)
		}
		lists, longest = append(lists, list), max(longest, len(list))
	}
	for i := range longest {
		for _, list := range lists {
			if i < len(list) {
				pages = append(pages, list[i])
			}
		}
	}
	if len(pages) == 0 {
		pages = [][]byte{appendBytes(nil, nil)}
	}
	return pages
}

// hotSource is the list of another node as this one reads it.
type hotSource struct {
	node    *Node
	to      protocol.Instance
	limit   int
	service string
	page    int
	ended   bool
}

// next returns the next page.
func (s *hotSource) next(ctx context.Context) (p hotPage, err error) {
	from := protocol.Instance(s.node.self.Load())
	reply, err := s.node.Ask(ctx, s.to, hottestKind, appendHottestRequest(nil, from, s.page, s.limit, s.service))
	if err != nil {
		return p, err
	}
	if p, err = parseHotPage(reply); err == nil {
		s.page++
		s.ended = p.follow == 0
	}
	return p, err
}
