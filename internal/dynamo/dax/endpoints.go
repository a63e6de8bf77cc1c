package dax

import (
	"net/netip"
	"slices"

	"github.com/kasoku/kasoku/internal/dynamo/dax/cbor"
)

// Member is a node that clients may use.
type Member struct {
	// ID is the node's number, of at least 1 and less than 2^53. The one with the lowest
	// is named as the leader, which some clients send their writes to: they may come to
	// any.
	ID int64
	// Name is the host's name, for people.
	Name string
	// Addresses is where clients reach it, at most one of each family. It is ignored of
	// this node if there is one in Config.Advertise, or none here.
	Addresses []netip.AddrPort
	Zone      string
	// Session is another number each time the node starts, less than 2^53.
	Session int64
	// Self marks this node.
	Self bool
}

// The fields of a node in the list, all of which some client needs.
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

// endpoints answers with the list of nodes, from memory: clients find out with it whether
// the node lives, and give it up after a second.
func (k *call) endpoints() {
	members := k.visibleMembers()
	k.out = cbor.AppendArray(append(k.out, success), len(members))
	for i := range members {
		k.out = appendNode(k.out, &members[i], i == 0)
	}
	k.local()
}

// success is the status of a reply that is no error: an empty array.
const success = 0x80

// visibleMembers are the nodes to tell, the leader first, each with the one address that the
// client can use. A node that drains is left out if there is another one: the list is never
// empty, since some clients then drop their connections to nodes that still serve.
func (k *call) visibleMembers() []Member {
	all := k.set.allMembers(k.srv.session)
	var told []Member
	self := -1 // where this node is in told
	for _, m := range all {
		address := k.set.addressOf(&m, k.conn.local)
		if !address.IsValid() {
			continue
		}
		if m.Self {
			self = len(told)
		}
		m.Addresses = []netip.AddrPort{address}
		told = append(told, m)
	}
	if k.srv.draining.Load() && self >= 0 && len(told) > 1 {
		told = slices.Delete(told, self, self+1)
	}
	for i := range told {
		if told[i].ID < told[0].ID {
			told[0], told[i] = told[i], told[0]
		}
	}
	return told
}

// allMembers are all that there are.
func (s *settings) allMembers(session int64) []Member {
	if s.Members != nil {
		return s.Members()
	}
	return []Member{{ID: 1, Zone: s.Zone, Session: session, Self: true}}
}

// addressOf is where a client reaches a node. at is where it reached this one.
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

// byFamily chooses the address of the family that the client has come with; where there is
// none, the client may be behind something that translates.
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
	name, zone, role := m.Name, m.Zone, uint64(roleReplica)
	if name == "" {
		name = at.Addr().WithZone("").String()
	}
	if zone == "" {
		zone = "kasoku"
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
