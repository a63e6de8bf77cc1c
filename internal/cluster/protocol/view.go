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
	Rev       uint64   // advanced by each write of the item; 0 if there is no item
	Creator   Instance // of the item, another one for each: a replaced item is detected by it
	Epoch     uint64   // advanced when the members change
	Members   []Member
	Suspended []Suspension
	Away      []Away
	// Clean is set while there are no members if the last one has left with no write in flight
	// and no quarantine.
	Clean bool
}

// maxAway is the number of Away that a view keeps.
const maxAway = 16

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

// has reports whether the suspension is in the view.
func (v *View) has(s Suspension) bool { return slices.Contains(v.Suspended, s) }

// equal reports whether two views have the same members and suspensions.
func (v *View) equal(o *View) bool {
	return v.Epoch == o.Epoch && slices.Equal(v.Suspended, o.Suspended) &&
		slices.EqualFunc(v.Members, o.Members, func(a, b Member) bool {
			return a.Instance == b.Instance && a.Joining == b.Joining
		})
}

// remove takes a member out, and the suspensions by it and of it.
func (v *View) remove(i Instance, wall int64, reason string) {
	at := slices.IndexFunc(v.Members, func(m Member) bool { return m.Instance == i })
	if at < 0 {
		return
	}
	node := v.Members[at].Node
	v.Away = slices.DeleteFunc(v.Away, func(a Away) bool { return a.Node == node })
	v.Away = append(v.Away, Away{Node: node, Since: wall, Reason: reason})
	v.Away = v.Away[max(0, len(v.Away)-maxAway):]
	v.Members = slices.Delete(v.Members, at, at+1)
	v.Suspended = slices.DeleteFunc(v.Suspended, func(s Suspension) bool { return s.By == i || s.Of == i })
}

// clone returns a copy whose slices may be changed.
func (v *View) clone() View {
	out := *v
	out.Members = slices.Clone(v.Members)
	out.Suspended = slices.Clone(v.Suspended)
	out.Away = slices.Clone(v.Away)
	return out
}
