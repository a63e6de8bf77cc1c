package protocol

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
)

// MaxFrame is the maximum length of a frame.
const MaxFrame = 8 << 20

// formatVersion is the first byte of a frame.
const formatVersion = 1

// The limits of a message. Lists are limited by the length of the frame as well.
const (
	maxTags     = 1 << 19 // of a list
	maxWrites   = 1 << 17 // of an Open or a Book
	maxMarks    = maxMembers * maxMembers
	maxServices = 1 << 10
	maxText     = 1 << 12
	maxSpan     = 1000 * 3600 * Second
)

// The bits of a message's flags. A message has its parts in the order of their bits.
const (
	flagRound = 1 << iota
	flagServing
	flagTags
	flagPayload
	flagSeqs
	flagView
	flagBooks
	flagUnsure
)

var errFrame = errors.New("malformed frame of a cluster message")

// AppendHeader appends the header of a frame, which one or more messages follow.
func AppendHeader(dst []byte, from Instance) []byte {
	dst = append(dst, formatVersion)
	return binary.BigEndian.AppendUint64(dst, uint64(from))
}

// AppendMessage appends a message to a frame. The caller keeps a frame within [MaxFrame].
//
// A message is its length in four bytes, the kind, and varints of the flags, the epoch and
// the number, and then the parts that the flags announce. Tags and instances have eight bytes
// each, counters are varints, and a list begins with its length. A later version may add
// flags, and their parts at the end.
func AppendMessage(dst []byte, m *Message) []byte {
	at := len(dst)
	dst = append(dst, 0, 0, 0, 0, byte(m.Kind))
	dst = binary.AppendUvarint(dst, flagsOf(m))
	dst = binary.AppendUvarint(dst, m.Epoch)
	dst = binary.AppendUvarint(dst, m.Seq)
	if m.Round != 0 {
		dst = binary.AppendUvarint(dst, m.Round)
	}
	if m.Tags != nil {
		dst = appendTags(dst, m.Tags)
	}
	if m.Payload != nil {
		dst = binary.AppendUvarint(dst, uint64(len(m.Payload)))
		dst = append(dst, m.Payload...)
	}
	if m.Seqs != nil {
		dst = binary.AppendUvarint(dst, uint64(len(m.Seqs)))
		last := uint64(0)
		for _, seq := range m.Seqs { // ascending
			dst = binary.AppendUvarint(dst, seq-last)
			last = seq
		}
	}
	if m.View != nil {
		dst = appendView(dst, m.View)
	}
	if m.Books != nil {
		dst = appendBook(dst, m.Books)
	}
	if m.Unsure != nil {
		dst = appendTags(dst, m.Unsure)
	}
	binary.BigEndian.PutUint32(dst[at:], uint32(len(dst)-at-4))
	return dst
}

func flagsOf(m *Message) (flags uint64) {
	set := func(is bool, flag uint64) {
		if is {
			flags |= flag
		}
	}
	set(m.Round != 0, flagRound)
	set(m.Serving, flagServing)
	set(m.Tags != nil, flagTags)
	set(m.Payload != nil, flagPayload)
	set(m.Seqs != nil, flagSeqs)
	set(m.View != nil, flagView)
	set(m.Books != nil, flagBooks)
	set(m.Unsure != nil, flagUnsure)
	return flags
}

func appendTags(dst []byte, tags []uint64) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(tags)))
	for _, t := range tags {
		dst = binary.BigEndian.AppendUint64(dst, t)
	}
	return dst
}

func appendText(dst []byte, s string) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(s)))
	return append(dst, s...)
}

func appendBool(dst []byte, b bool) []byte {
	if b {
		return append(dst, 1)
	}
	return append(dst, 0)
}

func appendView(dst []byte, v *View) []byte {
	dst = binary.AppendUvarint(dst, v.Rev)
	dst = binary.BigEndian.AppendUint64(dst, uint64(v.Creator))
	dst = binary.AppendUvarint(dst, v.Epoch)
	dst = appendBool(dst, v.Clean)
	dst = binary.AppendUvarint(dst, uint64(len(v.Members)))
	for i := range v.Members {
		dst = appendMember(dst, &v.Members[i])
	}
	dst = binary.AppendUvarint(dst, uint64(len(v.Suspended)))
	for _, s := range v.Suspended {
		dst = binary.BigEndian.AppendUint64(dst, uint64(s.By))
		dst = binary.BigEndian.AppendUint64(dst, uint64(s.Of))
	}
	dst = binary.AppendUvarint(dst, uint64(len(v.Away)))
	for _, a := range v.Away {
		dst = appendText(dst, a.Node)
		dst = binary.AppendVarint(dst, a.Since)
		dst = appendText(dst, a.Reason)
	}
	return dst
}

// appendMember appends a member with its length, so that a later version can add fields.
func appendMember(dst []byte, m *Member) []byte {
	at := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	dst = binary.BigEndian.AppendUint64(dst, uint64(m.Instance))
	dst = appendText(dst, m.Node)
	dst = appendText(dst, m.Address)
	dst = appendText(dst, m.Zone)
	dst = appendBool(dst, m.Joining)
	dst = binary.AppendVarint(dst, m.Joined)
	dst = binary.AppendUvarint(dst, uint64(len(m.DAX)))
	for _, service := range slices.Sorted(maps.Keys(m.DAX)) {
		dst = appendText(dst, service)
		dst = binary.AppendUvarint(dst, uint64(len(m.DAX[service])))
		for _, address := range m.DAX[service] {
			dst = appendText(dst, address)
		}
	}
	dst = binary.AppendUvarint(dst, uint64(len(m.Services)))
	for _, service := range slices.Sorted(maps.Keys(m.Services)) {
		dst = appendText(dst, service)
		dst = appendText(dst, m.Services[service])
	}
	binary.BigEndian.PutUint32(dst[at:], uint32(len(dst)-at-4))
	return dst
}

func appendBook(dst []byte, b *Book) []byte {
	dst = appendSpan(dst, b.Cold)
	dst = binary.AppendUvarint(dst, uint64(len(b.Writes)))
	for _, w := range b.Writes {
		dst = binary.BigEndian.AppendUint64(dst, uint64(w.Owner))
		dst = binary.AppendUvarint(dst, w.Seq)
		dst = appendTags(dst, w.Tags)
		dst = appendBool(dst, w.Payload)
		dst = appendTags(dst, w.Unsure)
	}
	dst = binary.AppendUvarint(dst, uint64(len(b.Quarantines)))
	for _, q := range b.Quarantines {
		dst = appendSpan(dst, q.Left)
		dst = appendTags(dst, q.Tags)
	}
	return dst
}

func appendSpan(dst []byte, t Time) []byte {
	return binary.AppendUvarint(dst, uint64(max(0, t)))
}

// Parse calls yield for each message of a frame, in order. Messages of kinds that are not
// known are skipped. The message and its Seqs are valid only during the call; its Tags,
// Payload, View and Books may be kept. If the frame is malformed, the messages before the
// first bad one have been yielded.
func Parse(frame []byte, yield func(from Instance, m *Message)) error {
	if len(frame) > MaxFrame {
		return fmt.Errorf("%w: it has %d bytes", errFrame, len(frame))
	}
	d := decoder{b: frame}
	if version := d.byte(); version != formatVersion {
		return fmt.Errorf("%w: it has version %d, this node has %d", errFrame, version, formatVersion)
	}
	from := Instance(d.fixed())
	if d.bad || from == 0 {
		return fmt.Errorf("%w: it has no sender", errFrame)
	}
	var m Message
	for len(d.b) > 0 {
		body := decoder{b: d.sized()}
		if d.bad || len(body.b) == 0 {
			return fmt.Errorf("%w: a message is cut off", errFrame)
		}
		kind := Kind(body.byte())
		if kind < Inv || kind > Newer {
			continue
		}
		m = Message{Kind: kind, Seqs: m.Seqs[:0]}
		body.message(&m)
		if body.bad {
			return fmt.Errorf("%w: a message of kind %d is invalid", errFrame, kind)
		}
		yield(from, &m)
	}
	return nil
}

// decoder reads values from the front of b. After an error, bad is set and all further values
// are zero.
type decoder struct {
	b   []byte
	bad bool
}

func (d *decoder) fail() {
	d.b, d.bad = nil, true
}

// take returns the next n bytes, which are not copied.
func (d *decoder) take(n uint64) []byte {
	if n > uint64(len(d.b)) {
		d.fail()
		return nil
	}
	out := d.b[:n:n]
	d.b = d.b[n:]
	return out
}

func (d *decoder) byte() byte {
	if b := d.take(1); len(b) == 1 {
		return b[0]
	}
	return 0
}

func (d *decoder) bool() bool {
	b := d.byte()
	if b > 1 {
		d.fail()
	}
	return b == 1
}

func (d *decoder) fixed() uint64 {
	if b := d.take(8); len(b) == 8 {
		return binary.BigEndian.Uint64(b)
	}
	return 0
}

// instance returns the number of a member, which is not 0.
func (d *decoder) instance() Instance {
	i := Instance(d.fixed())
	if i == 0 {
		d.fail()
	}
	return i
}

func (d *decoder) uvarint() uint64 {
	v, n := binary.Uvarint(d.b)
	if n <= 0 {
		d.fail()
		return 0
	}
	d.b = d.b[n:]
	return v
}

func (d *decoder) varint() int64 {
	v, n := binary.Varint(d.b)
	if n <= 0 {
		d.fail()
		return 0
	}
	d.b = d.b[n:]
	return v
}

// sized returns the bytes of a part that begins with its length.
func (d *decoder) sized() []byte {
	if b := d.take(4); len(b) == 4 {
		return d.take(uint64(binary.BigEndian.Uint32(b)))
	}
	return nil
}

// count returns the length of a list whose elements have at least size bytes each.
func (d *decoder) count(limit, size int) int {
	n := d.uvarint()
	if n > uint64(limit) || n > uint64(len(d.b)/size) {
		d.fail()
		return 0
	}
	return int(n)
}

func (d *decoder) text() string { return string(d.take(uint64(d.count(maxText, 1)))) }

// span returns a length of time.
func (d *decoder) span() Time {
	t := d.uvarint()
	if t > uint64(maxSpan) {
		d.fail()
		return 0
	}
	return Time(t)
}

func (d *decoder) tags() []uint64 {
	tags := make([]uint64, d.count(maxTags, 8))
	for i := range tags {
		tags[i] = d.fixed()
	}
	return tags
}

// message reads all of a message after its kind.
func (d *decoder) message(m *Message) {
	seqs := m.Seqs
	m.Seqs = nil
	flags := d.uvarint()
	m.Epoch, m.Seq = d.uvarint(), d.uvarint()
	m.Serving = flags&flagServing != 0
	if flags&flagRound != 0 {
		m.Round = d.uvarint()
	}
	if flags&flagTags != 0 {
		m.Tags = d.tags()
	}
	if flags&flagPayload != 0 {
		payload := d.take(uint64(d.count(math.MaxInt32, 1)))
		m.Payload = append(make([]byte, 0, len(payload)), payload...)
	}
	if flags&flagSeqs != 0 {
		m.Seqs = d.seqs(seqs)
	}
	if flags&flagView != 0 {
		m.View = d.view()
	}
	if flags&flagBooks != 0 {
		m.Books = d.book()
	}
	if flags&flagUnsure != 0 {
		m.Unsure = d.tags()
	}
}

// seqs appends an ascending list of numbers.
func (d *decoder) seqs(out []uint64) []uint64 {
	n := d.count(maxWrites, 1)
	if out == nil {
		out = make([]uint64, 0, n)
	}
	last := uint64(0)
	for i := range n {
		step := d.uvarint()
		if last+step < last || i > 0 && step == 0 {
			d.fail()
		}
		last += step
		out = append(out, last)
	}
	return out
}

func (d *decoder) view() *View {
	v := &View{Rev: d.uvarint(), Creator: Instance(d.fixed()), Epoch: d.uvarint(), Clean: d.bool()}
	v.Members = make([]Member, d.count(maxMembers, 4))
	for i := range v.Members {
		body := decoder{b: d.sized(), bad: d.bad}
		v.Members[i] = body.member()
		if body.bad || v.Find(v.Members[i].Instance) != &v.Members[i] {
			d.fail() // or two members have one number
			return v
		}
	}
	v.Suspended = make([]Suspension, d.count(maxMarks, 16))
	for i := range v.Suspended {
		v.Suspended[i] = Suspension{By: d.instance(), Of: d.instance()}
	}
	v.Away = make([]Away, d.count(maxAway, 3))
	for i := range v.Away {
		v.Away[i] = Away{Node: d.text(), Since: d.varint(), Reason: d.text()}
	}
	return v
}

func (d *decoder) member() Member {
	m := Member{
		Instance: d.instance(), Node: d.text(), Address: d.text(), Zone: d.text(),
		Joining: d.bool(), Joined: d.varint(),
	}
	if n := d.count(maxServices, 2); n > 0 {
		m.DAX = make(map[string][]string, n)
		for range n {
			service := d.text()
			addresses := make([]string, d.count(maxServices, 1))
			for i := range addresses {
				addresses[i] = d.text()
			}
			m.DAX[service] = addresses
		}
	}
	if n := d.count(maxServices, 2); n > 0 {
		m.Services = make(map[string]string, n)
		for range n {
			service := d.text()
			m.Services[service] = d.text()
		}
	}
	return m
}

func (d *decoder) book() *Book {
	b := &Book{Cold: d.span()}
	b.Writes = make([]HeldWrite, d.count(maxWrites, 12))
	for i := range b.Writes {
		b.Writes[i] = HeldWrite{Owner: d.instance(), Seq: d.uvarint(), Tags: d.tags(), Payload: d.bool(), Unsure: d.tags()}
	}
	b.Quarantines = make([]Quarantine, d.count(maxTags, 2))
	for i := range b.Quarantines {
		b.Quarantines[i] = Quarantine{Left: d.span(), Tags: d.tags()}
	}
	return b
}
