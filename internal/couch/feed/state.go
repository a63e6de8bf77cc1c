package feed

import (
	"cmp"
	"net/http"
	"slices"
)

// State is a snapshot of a shared feed.
type State struct {
	DB    string // unescaped
	Query string // the shared parameters, after "POST " if there is a shared body
	Node  int
	Phase string // "opening", "open", "resuming", "refused", "ended", "lost", "away"
	// Clients is the number of clients; Rows and Bytes are the size of the ring.
	Clients, Rows, Bytes int
}

// States returns the states of all shared feeds, sorted by descending number of clients.
func (f *Feeds) States() []State {
	f.mu.Lock()
	defer f.mu.Unlock()
	list := make([]State, 0, len(f.running))
	for g := range f.running {
		list = append(list, g.state())
	}
	slices.SortFunc(list, func(a, b State) int {
		return cmp.Or(b.Clients-a.Clients, cmp.Compare(a.DB, b.DB), cmp.Compare(a.Query, b.Query), a.Node-b.Node)
	})
	return list
}

// state returns a snapshot of the group. Feeds.mu is held.
func (g *group) state() State {
	s := State{DB: g.db, Query: g.shared, Node: g.node, Clients: g.clients}
	if g.method == http.MethodPost {
		s.Query = "POST " + s.Query
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	s.Phase, s.Rows, s.Bytes = g.phase.String(), len(g.ring.rows), g.ring.bytes
	if g.phase == open && g.broken {
		s.Phase = "resuming"
	}
	return s
}

func (p phase) String() string {
	return [...]string{"opening", "open", "refused", "ended", "lost", "away"}[p]
}
