package protocol

import "slices"

// Instance is the random number of one membership of one process. A process that was taken
// out of the view joins again under a new number.
type Instance uint64

// Member is a process in the view.
type Member struct {
	Instance Instance
	Node     string              // the configured name
	Address  string              // host:port at which other members reach it
	Zone     string              // for DAX clients and people
	Joining  bool                // it does not serve yet
	Joined   int64               // Unix milliseconds, for people
	DAX      map[string][]string // by service: the addresses for DAX clients
	Services map[string]string   // by service: a digest of its type and origin, equal on all members
}

// Suspension is a mark by one member on another one that did not answer. While it is in the
// view, Of can't renew its lease, so that By may take it out of the view one Wait later.
type Suspension struct{ By, Of Instance }

// Away is a node that has left or was taken out of the view lately.
type Away struct {
	Node   string
	Since  int64 // Unix milliseconds
	Reason string
}

// View is the membership of a cluster: one item at the origin, changed by conditional writes
// and read with strongly consistent reads.
type View struct {
	Rev       uint64 // advanced by each write of the item; 0 if there is no item
	Epoch     uint64 // advanced when the members change
	Members   []Member
	Suspended []Suspension
	Away      []Away
}

// Find returns the member with the number, or nil.
func (v *View) Find(i Instance) *Member {
	at := slices.IndexFunc(v.Members, func(m Member) bool { return m.Instance == i })
	if at < 0 {
		return nil
	}
	return &v.Members[at]
}

// IsSuspended reports whether any member has suspended i.
func (v *View) IsSuspended(i Instance) bool {
	return slices.ContainsFunc(v.Suspended, func(s Suspension) bool { return s.Of == i })
}

// clone returns a copy whose slices may be changed.
func (v *View) clone() View {
	out := *v
	out.Members = slices.Clone(v.Members)
	out.Suspended = slices.Clone(v.Suspended)
	out.Away = slices.Clone(v.Away)
	return out
}
