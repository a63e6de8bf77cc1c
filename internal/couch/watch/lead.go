package watch

import "sync"

// lead is whose turn it is to take a database's writes. When the first node fails,
// another one takes them, and goes on until the first lacks nothing: else what was
// written last would be on neither node together with what is written next.
type lead struct {
	mu      sync.Mutex // taken before the locks of what is known
	node    int        // took the last write
	writing int        // writes under way
}

// Writer returns the node that has what was written last through Kasoku, and takes
// what is written next where one node takes the writes. It is the first one, unless
// another took a write that the first may lack.
func (d *Database) Writer() int {
	d.lead.mu.Lock()
	defer d.lead.mu.Unlock()
	return d.writer()
}

// Writing takes note that a write begins. Written has to be called when it is over,
// after Wrote: until then no other node's turn comes.
func (d *Database) Writing() {
	d.lead.mu.Lock()
	defer d.lead.mu.Unlock()
	d.writer()
	d.lead.writing++
}

// Written ends what Writing began.
func (d *Database) Written() {
	d.lead.mu.Lock()
	defer d.lead.mu.Unlock()
	d.lead.writing--
}

// took takes note that node took a write.
func (d *Database) took(node int) {
	d.lead.mu.Lock()
	defer d.lead.mu.Unlock()
	d.lead.node = node
}

// writer is Writer. d.lead.mu is held.
func (d *Database) writer() int {
	t := &d.lead
	switch {
	case t.node == 0:
	case !d.known.In().Has(t.node), d.gone(0):
		return 0
	case t.writing == 0 && d.Current(nil).Has(0):
		t.node = 0
	}
	return t.node
}

// gone tells whether the database is not on node.
func (d *Database) gone(node int) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.nodes[node].absent
}
