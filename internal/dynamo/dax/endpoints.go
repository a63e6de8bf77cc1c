package dax

import (
	"cmp"
	"net/netip"
	"slices"

	"github.com/kasoku/kasoku/internal/dynamo/dax/cbor"
)

// Member is a node that clients may use.
type Member struct {
	// ID is the node's number, at least 1 and less than 2^53. The node with the lowest one
	// is announced as the leader, to which some clients send their writes; any node accepts
	// them.
	ID int64
	// Name is the host name, for people.
	Name string
	// Addresses are the addresses for clients, at most one per family. For this node they
	// are ignored if Config.Advertise has an address or if they are empty.
	Addresses []netip.AddrPort
	Zone      string
	// Session is a number less than 2^53 that changes with each start of the node.
	Session int64
	// Self marks this node.
	Self bool
	// Doubtful marks a node that may not answer, or not from its cache. It is announced after
	// the others, and as the leader only if all are doubtful.
	Doubtful bool
}

// compare orders nodes as they are announced.
func (m *Member) compare(o *Member) int {
	switch {
	case m.Doubtful == o.Doubtful:
		return cmp.Compare(m.ID, o.ID)
	case o.Doubtful:
		return -1
	}
	return 1
}

// The fields of a node in the list. Each is required by some client.
const (
	nodeFields   = 7
	fieldID      = 0
	fieldName    = 1
	fieldAddress = 2
	fieldPort    = 3
	fieldRole    = 4
	fieldZone    = 5
	fieldSession = 6

	roleLeader  = 1
	roleReplica = 2
)

// endpoints answers with the list of nodes, from memory: clients use it to check that the
// node is alive, with a timeout of one second.
func (k *call) endpoints() {
	members := k.visibleMembers()
	k.out = cbor.AppendArray(append(k.out, success), len(members))
	for i := range members {
		k.out = appendNode(k.out, &members[i], i == 0)
	}
	k.local()
}

// success is the status of a successful reply: an empty array.
const success = 0x80

// visibleMembers returns the nodes to announce, the leader first, each with the one address
// that the client can use. A draining node is omitted if there is another one. The list is
// never empty, because some clients would then drop their connections to nodes that still
// serve.
func (k *call) visibleMembers() []Member {
	all := k.set.allMembers(k.srv.session)
	var visible []Member
	self := -1 // index of this node in the result
	for _, m := range all {
		address := k.set.addressOf(&m, k.conn.local)
		if !address.IsValid() {
			continue
		}
		if m.Self {
			self = len(visible)
		}
		m.Addresses = []netip.AddrPort{address}
		visible = append(visible, m)
	}
	if k.srv.draining.Load() && self >= 0 && len(visible) > 1 {
		visible = slices.Delete(visible, self, self+1)
	}
	slices.SortFunc(visible, func(a, b Member) int { return a.compare(&b) })
	return visible
}

// allMembers returns all nodes.
func (s *settings) allMembers(session int64) []Member {
	if s.Members != nil {
		return s.Members()
	}
	return []Member{{ID: 1, Zone: s.Zone, Session: session, Self: true}}
}

// addressOf returns the address at which a client reaches a node. at is the address at which
// it reached this one.
func (s *settings) addressOf(m *Member, at netip.AddrPort) netip.AddrPort {
	from := m.Addresses
	if m.Self && (len(s.Advertise) > 0 || len(from) == 0) {
		if from = s.Advertise; len(from) == 0 {
			return at
		}
	}
	a := byFamily(from, at.Addr().Is4())
	if m.Self {
		if !a.Addr().IsValid() || a.Addr().IsUnspecified() {
			a = netip.AddrPortFrom(at.Addr(), a.Port())
		}
		if a.Port() == 0 {
			a = netip.AddrPortFrom(a.Addr(), at.Port())
		}
	}
	return a
}

// byFamily returns the address of the given family. If there is none, it returns another
// one, because the client may be behind a translator.
func byFamily(all []netip.AddrPort, four bool) (a netip.AddrPort) {
	for i, at := range all {
		at = netip.AddrPortFrom(at.Addr().Unmap(), at.Port())
		if at.Addr().Is4() == four {
			return at
		}
		if i == 0 {
			a = at
		}
	}
	return a
}

func appendNode(dst []byte, m *Member, leader bool) []byte {
	at := m.Addresses[0]
	name, zone, role := m.Name, cmp.Or(m.Zone, "kasoku"), uint64(roleReplica)
	if name == "" {
		name = at.Addr().WithZone("").String()
	}
	if leader {
		role = roleLeader
	}
	dst = cbor.AppendMap(dst, nodeFields)
	dst = cbor.AppendInt(cbor.AppendUint(dst, fieldID), m.ID)
	dst = cbor.AppendText(cbor.AppendUint(dst, fieldName), name)
	dst = cbor.AppendBytes(cbor.AppendUint(dst, fieldAddress), at.Addr().AsSlice())
	dst = cbor.AppendUint(cbor.AppendUint(dst, fieldPort), uint64(at.Port()))
	dst = cbor.AppendUint(cbor.AppendUint(dst, fieldRole), role)
	dst = cbor.AppendText(cbor.AppendUint(dst, fieldZone), zone)
	return cbor.AppendInt(cbor.AppendUint(dst, fieldSession), m.Session)
}
