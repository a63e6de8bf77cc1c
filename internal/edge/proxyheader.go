package edge

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"net/netip"
	"strconv"
	"time"
)

// Bounds of the PROXY protocol, versions 1 and 2 (HAProxy's proxy-protocol.txt): a line of
// text or a block of bytes before the first byte of a connection.
const (
	maxProxyLine  = 107     // of version 1, CRLF included
	maxProxyBlock = 4 << 10 // of version 2, without its first 16 bytes; the protocol allows 64 KiB
	proxyStart    = 12      // less than the shortest header of either version
)

var proxySignature = []byte("\r\n\r\n\x00\r\nQUIT\n")

var errProxyHeader = errors.New("edge: malformed PROXY header")

// readProxy reads the header that contains the address of the proxy's client. It returns
// false if the connection is to be closed.
func (c *conn) readProxy() bool {
	c.SetIdle() // no client waits for an answer
	_ = c.Sock.SetReadDeadline(time.Now().Add(c.srv.set.Load().limits.HeaderTimeout))
	if c.srv.conns.Closing() {
		return false
	}
	client, err := readProxyHeader(c.NC)
	if err != nil {
		if !c.srv.conns.Closing() {
			c.srv.stats.proxies.Inc()
		}
		return false
	}
	if client != nil {
		c.Client = *client
	}
	return c.SetActive()
}

// readProxyHeader reads exactly a header. It returns the client that the header names, which
// is invalid if it has no address, or nil when the connection is the proxy's own.
func readProxyHeader(r io.Reader) (*netip.AddrPort, error) {
	var space [maxProxyLine]byte
	head := space[:proxyStart]
	if _, err := io.ReadFull(r, head); err != nil {
		return nil, err
	}
	if bytes.Equal(head, proxySignature) {
		return readProxyBlock(r)
	}
	least := 0
	switch string(head[:10]) {
	case "PROXY TCP4":
		least = len("PROXY TCP4 0.0.0.0 0.0.0.0 0 0\r\n")
	case "PROXY TCP6":
		least = len("PROXY TCP6 :: :: 0 0\r\n")
	case "PROXY UNKN":
		least = len("PROXY UNKNOWN\r\n")
	default:
		return nil, errProxyHeader
	}
	if _, err := io.ReadFull(r, space[proxyStart:least]); err != nil {
		return nil, err
	}
	n := least
	for space[n-1] != '\n' {
		if n == len(space) {
			return nil, errProxyHeader
		}
		if _, err := io.ReadFull(r, space[n:n+1]); err != nil {
			return nil, err
		}
		n++
	}
	return parseProxyLine(space[:n])
}

// parseProxyLine reads a header of version 1: "PROXY TCP4 source destination port
// port", in canonical form, or "PROXY UNKNOWN" with anything behind.
func parseProxyLine(line []byte) (*netip.AddrPort, error) {
	text, ok := bytes.CutSuffix(line, []byte("\r\n"))
	if !ok || bytes.ContainsAny(text, "\r\n") {
		return nil, errProxyHeader
	}
	if rest, unknown := bytes.CutPrefix(text, []byte("PROXY UNKNOWN")); unknown && (len(rest) == 0 || rest[0] == ' ') {
		return nil, nil
	}
	part := bytes.Split(text, []byte{' '})
	if len(part) != 6 {
		return nil, errProxyHeader
	}
	four := string(part[1]) == "TCP4"
	from, err := proxyAddress(part[2], part[4], four)
	if err == nil {
		_, err = proxyAddress(part[3], part[5], four)
	}
	if err != nil || !four && string(part[1]) != "TCP6" {
		return nil, errProxyHeader
	}
	return &from, nil
}

// proxyAddress reads an address and a port of version 1.
func proxyAddress(address, port []byte, four bool) (netip.AddrPort, error) {
	ip, err := netip.ParseAddr(string(address))
	if err != nil || ip.Is4() != four || ip.Zone() != "" {
		return netip.AddrPort{}, errProxyHeader
	}
	n, err := strconv.ParseUint(string(port), 10, 16)
	if err != nil || strconv.FormatUint(n, 10) != string(port) {
		return netip.AddrPort{}, errProxyHeader
	}
	return netip.AddrPortFrom(ip.Unmap(), uint16(n)), nil
}

// The bytes after the signature of version 2.
const (
	proxyLocal   = 0x20 // version and command
	proxyProxied = 0x21
	proxyUnspec  = 0x00 // family and transport
	proxyTCP4    = 0x11
	proxyTCP6    = 0x21
	proxyUnix    = 0x31
)

// readProxyBlock reads a header of version 2 behind its signature.
func readProxyBlock(r io.Reader) (*netip.AddrPort, error) {
	var fixed [4]byte
	if _, err := io.ReadFull(r, fixed[:]); err != nil {
		return nil, err
	}
	size := int(binary.BigEndian.Uint16(fixed[2:]))
	if size > maxProxyBlock {
		return nil, errProxyHeader
	}
	block := make([]byte, size)
	if _, err := io.ReadFull(r, block); err != nil {
		return nil, err
	}
	return parseProxyBlock(fixed, block)
}

func parseProxyBlock(fixed [4]byte, block []byte) (*netip.AddrPort, error) {
	if fixed[0] == proxyLocal {
		return nil, nil
	}
	if fixed[0] != proxyProxied {
		return nil, errProxyHeader
	}
	addresses := 0
	switch fixed[1] {
	case proxyUnspec:
		return nil, nil
	case proxyTCP4:
		addresses = 2*4 + 2*2
	case proxyTCP6:
		addresses = 2*16 + 2*2
	case proxyUnix:
		addresses = 2 * 108
	default: // datagrams, and values that the protocol does not define
		return nil, errProxyHeader
	}
	if len(block) < addresses || !proxyExtras(fixed, block, addresses) {
		return nil, errProxyHeader
	}
	client := new(netip.AddrPort)
	if width := (addresses - 4) / 2; fixed[1] != proxyUnix {
		ip, _ := netip.AddrFromSlice(block[:width])
		*client = netip.AddrPortFrom(ip.Unmap(), binary.BigEndian.Uint16(block[2*width:]))
	}
	return client, nil
}

// proxyCRC is the type of the field with a checksum of the whole header.
const proxyCRC = 0x03

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// proxyExtras checks the fields behind the addresses, whose values are not used: their
// lengths, and the checksum if there is one.
func proxyExtras(fixed [4]byte, block []byte, at int) bool {
	for at < len(block) {
		if len(block)-at < 3 {
			return false
		}
		kind, size := block[at], int(binary.BigEndian.Uint16(block[at+1:]))
		at += 3
		if size > len(block)-at {
			return false
		}
		if kind == proxyCRC && (size != 4 || proxySum(fixed, block, at) != binary.BigEndian.Uint32(block[at:])) {
			return false
		}
		at += size
	}
	return true
}

// proxySum returns the checksum of a header whose own checksum, at the given offset, counts
// as zeros.
func proxySum(fixed [4]byte, block []byte, at int) uint32 {
	sum := crc32.Update(0, castagnoli, proxySignature)
	sum = crc32.Update(sum, castagnoli, fixed[:])
	sum = crc32.Update(sum, castagnoli, block[:at])
	sum = crc32.Update(sum, castagnoli, make([]byte, 4))
	return crc32.Update(sum, castagnoli, block[at+4:])
}
