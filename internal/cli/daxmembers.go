package cli

import (
	"cmp"
	"hash/fnv"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/kasoku/kasoku/internal/cluster"
	"github.com/kasoku/kasoku/internal/cluster/protocol"
	"github.com/kasoku/kasoku/internal/dynamo/dax"
)

// daxMembers makes the list of nodes for DAX clients of a service, from the members of the
// cluster:
//
//   - A joining member is not in the list until it serves.
//   - A member whose listener ends is not in it.
//   - A suspended member is in it, because it may only be slow, but not as the leader.
//   - This node omits itself if it is a member without a lease and there is another one: it
//     has lost the origin and can't answer.
//   - If it is no member, for example because it is cut off from the others, it is the last in
//     its own list, and not the leader: it passes reads to the origin, for clients that reach no
//     other node.
type daxMembers struct {
	membership func() cluster.Membership
	hosts      *hosts
	drains     *daxDrains
	node       string                           // this node's name
	own        *atomic.Pointer[protocol.Member] // this node's addresses; nil before they are known
	service    string
	zone       string // of nodes without one
	cached     atomic.Pointer[daxMemberList]
}

// daxMemberList is a list of nodes and what it depends on.
type daxMemberList struct {
	members   []dax.Member
	rev       uint64
	creator   protocol.Instance
	self      protocol.Instance
	mode      protocol.Mode
	serving   bool
	addresses uint64 // hosts.version
	drains    uint64 // daxDrains.version
	made      time.Time
}

// daxListAge is the age after which a list is made again, so that names are looked up again.
const daxListAge = 5 * time.Second

// list implements dax.Config.Members.
func (d *daxMembers) list() []dax.Member {
	at, now := d.membership(), time.Now()
	next := &daxMemberList{
		rev: at.View.Rev, creator: at.View.Creator, self: at.Self, mode: at.Mode, serving: at.Serving,
		addresses: d.hosts.version(), drains: d.drains.version(), made: now,
	}
	if l := d.cached.Load(); l != nil && now.Sub(l.made) < daxListAge && l.sameAs(next) {
		return l.members
	}
	next.members = d.make(&at)
	d.cached.Store(next)
	return next.members
}

// sameAs reports whether l and o depend on the same state.
func (l *daxMemberList) sameAs(o *daxMemberList) bool {
	return l.rev == o.rev && l.creator == o.creator && l.self == o.self && l.mode == o.mode && l.serving == o.serving &&
		l.addresses == o.addresses && l.drains == o.drains
}

// make makes the list.
func (d *daxMembers) make(at *cluster.Membership) []dax.Member {
	own := protocol.Member{Node: d.node}
	if m := d.own.Load(); m != nil {
		own = *m
	}
	own.Instance = at.Self
	var list []dax.Member
	others := false // there is another node that clients can reach
	for i := range at.View.Members {
		m := &at.View.Members[i]
		if m.Instance == at.Self {
			own = *m
			continue
		}
		former := m.Node == d.node // a former membership of this node
		if m.Joining || former || d.drains.has(daxEnd{m.Instance, d.service}) {
			continue
		}
		o := d.member(m)
		o.Doubtful = at.View.IsSuspended(m.Instance)
		others = others || len(o.Addresses) > 0
		list = append(list, o)
	}
	if at.Mode == protocol.In && !at.Serving && others {
		return list
	}
	if d.drains.hasOwn(d.service) {
		own.DAX = nil // clients of its successor have another address
	}
	self := d.member(&own)
	self.Self = true
	self.Doubtful = at.Mode < protocol.In || at.View.IsSuspended(at.Self)
	return append(list, self)
}

// maxDAXNumber is the maximum of numbers that every DAX client can represent.
const maxDAXNumber = 1<<53 - 1

// member returns a member of the view as clients see it.
func (d *daxMembers) member(m *protocol.Member) dax.Member {
	hash := fnv.New64a()
	hash.Write([]byte(m.Node))
	o := dax.Member{
		ID: int64(hash.Sum64()%maxDAXNumber) + 1, Zone: cmp.Or(m.Zone, d.zone), Session: int64(m.Instance & maxDAXNumber),
	}
	for _, address := range m.DAX[d.service] {
		host, text, err := net.SplitHostPort(address)
		port, portErr := strconv.ParseUint(text, 10, 16)
		if err != nil || portErr != nil {
			continue
		}
		for _, ip := range d.hosts.find(host) {
			if !slices.ContainsFunc(o.Addresses, func(a netip.AddrPort) bool { return a.Addr().Is4() == ip.Is4() }) {
				o.Addresses = append(o.Addresses, netip.AddrPortFrom(ip, uint16(port)))
			}
		}
	}
	return o
}
