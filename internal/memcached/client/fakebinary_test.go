package client

import (
	"encoding/binary"
	"fmt"
	"io"
	"strings"
)

// The commands of the binary protocol, and the statuses of replies, that the fake supports.
const (
	opSet      = 0x01
	opAdd      = 0x02
	opDelete   = 0x04
	opNoop     = 0x0a
	opVersion  = 0x0b
	opGetK     = 0x0c
	opStat     = 0x10
	opSASLAuth = 0x21

	notFound  = 0x01
	exists    = 0x02
	oversized = 0x03
	denied    = 0x20
	unknown   = 0x81
	noMemory  = 0x82
)

var words = map[uint16]string{
	notFound: "Not found", exists: "Data exists for key.", oversized: "Too large.", denied: "Auth failure.", unknown: "Unknown command",
	noMemory: "Out of memory",
}

// reply returns a binary reply.
func reply(opcode byte, status uint16, opaque uint32, cas uint64, extras []byte, key, value string) []byte {
	b := binary.BigEndian.AppendUint16([]byte{0x81, opcode}, uint16(len(key)))
	b = append(b, byte(len(extras)), 0)
	b = binary.BigEndian.AppendUint16(b, status)
	b = binary.BigEndian.AppendUint32(b, uint32(len(extras)+len(key)+len(value)))
	b = binary.BigEndian.AppendUint32(b, opaque)
	b = binary.BigEndian.AppendUint64(b, cas)
	return append(append(append(b, extras...), key...), value...)
}

// binaryCommand is a binary command.
type binaryCommand struct {
	opcode     byte
	opaque     uint32
	cas        uint64
	extras     []byte
	key, value string
}

// onceBinary executes one binary command; false ends the connection.
func (s *session) onceBinary() bool {
	var head [24]byte
	if _, err := io.ReadFull(s.in, head[:]); err != nil || head[0] != 0x80 {
		return false
	}
	body := make([]byte, binary.BigEndian.Uint32(head[8:]))
	if _, err := io.ReadFull(s.in, body); err != nil {
		return false
	}
	s.commands.Add(1)
	extras, key := int(head[4]), int(binary.BigEndian.Uint16(head[2:]))
	a := &binaryCommand{
		opcode: head[1], opaque: binary.BigEndian.Uint32(head[12:]), cas: binary.BigEndian.Uint64(head[16:]),
		extras: body[:extras], key: string(body[extras : extras+key]), value: string(body[extras+key:]),
	}
	from := s.out.Len()
	ok := s.executeBinary(a)
	if delayed := s.delayed; delayed != nil {
		s.delayed = nil
		s.out.Write(delayed)
		return ok
	}
	return s.chaos.maybeCorrupt(s, from) && ok
}

func (s *session) executeBinary(a *binaryCommand) bool {
	if !s.authenticated && a.opcode != opSASLAuth && a.opcode != opVersion {
		s.respond(a, denied)
		s.flush()
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch a.opcode {
	case opGetK:
		s.getBinary(a)
	case opSet, opAdd:
		s.respond(a, s.storeBinary(a))
	case opDelete:
		status := uint16(0)
		if s.items[a.key] == nil {
			status = notFound
		}
		delete(s.items, a.key)
		s.respond(a, status)
	case opNoop:
		s.respond(a, 0)
	case opVersion:
		s.out.Write(reply(a.opcode, 0, a.opaque, 0, nil, "", "fake"))
	case opStat:
		for _, setting := range []string{"maxbytes 67108864", "item_size_max 1048576", " "} {
			name, value, _ := strings.Cut(setting, " ")
			s.out.Write(reply(a.opcode, 0, a.opaque, 0, nil, name, value))
		}
	case opSASLAuth:
		s.loginBinary(a)
	default:
		s.respond(a, unknown)
	}
	return true
}

// respond answers with a status and its text.
func (s *session) respond(a *binaryCommand, status uint16) {
	s.out.Write(reply(a.opcode, status, a.opaque, 0, nil, "", words[status]))
}

func (s *session) getBinary(a *binaryCommand) {
	it := s.items[a.key]
	if it == nil {
		s.out.Write(reply(a.opcode, notFound, a.opaque, 0, nil, a.key, ""))
		return
	}
	flags := binary.BigEndian.AppendUint32(nil, it.flags)
	s.out.Write(reply(a.opcode, 0, a.opaque, it.cas, flags, a.key, string(it.value)))
}

func (s *session) storeBinary(a *binaryCommand) (status uint16) {
	old := s.items[a.key]
	switch {
	case len(a.value) > largest:
		return oversized
	case a.opcode == opAdd && old != nil, a.cas != 0 && old != nil && old.cas != a.cas:
		return exists
	case a.cas != 0 && old == nil:
		return notFound
	}
	it := &item{value: []byte(a.value), flags: binary.BigEndian.Uint32(a.extras), ttl: int64(binary.BigEndian.Uint32(a.extras[4:]))}
	it.cas = uint64(s.commands.Load()) + 100
	if it.ttl == 0 {
		it.ttl = -1
	}
	s.items[a.key] = it
	return 0
}

func (s *session) loginBinary(a *binaryCommand) {
	user, password, _ := strings.Cut(s.auth, " ")
	if s.authenticated = a.key == "PLAIN" && a.value == fmt.Sprintf("\x00%s\x00%s", user, password); !s.authenticated {
		s.respond(a, denied)
		return
	}
	s.out.Write(reply(a.opcode, 0, a.opaque, 0, nil, "", "Authenticated"))
}
