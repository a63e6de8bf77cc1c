package store

import (
	"encoding/binary"
	"slices"

	"github.com/kasoku/kasoku/internal/ascii"
	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/httpcache/policy"
)

// recordVersion is the first byte of a record. Records of other versions are ignored, so
// that their responses are fetched again.
const recordVersion = 2

// encode returns the record of the head, as it is written to disk. Numbers are varints, and
// strings are preceded by their length.
//
//	version, status, time of the request, time of the response (policy.Moment),
//	1 if the response matches any tag, number of tags, their slots,
//	number of names in Vary, the names, the request's values of them,
//	number of fields, then name and value of each
//
// The fields are those of a hit, and Age.
func (h *Head) encode() []byte {
	r := &h.Response
	b := make([]byte, 0, h.weight())
	b = append(b, recordVersion)
	b = binary.AppendUvarint(b, uint64(r.Status))
	b = binary.AppendVarint(b, int64(r.RequestTime))
	b = binary.AppendVarint(b, int64(r.ResponseTime))
	any := uint64(0)
	if h.Tags.all {
		any = 1
	}
	b = binary.AppendUvarint(b, any)
	b = binary.AppendUvarint(b, uint64(len(h.Tags.slots)))
	for _, t := range h.Tags.slots {
		b = binary.AppendUvarint(b, uint64(t))
	}
	b = binary.AppendUvarint(b, uint64(len(r.Vary)))
	for _, name := range r.Vary {
		b = appendText(b, []byte(name))
	}
	b = appendText(b, h.varyValues)
	return appendFields(b, h.recordFields())
}

// recordFields returns the fields that are written.
func (h *Head) recordFields() http1.Fields {
	fields := slices.Clone(h.Hit)
	for _, f := range h.Fields {
		if ascii.EqualFold(f.Name, "age") {
			fields = append(fields, f)
		}
	}
	return fields
}

func appendText(b, text []byte) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}

// decodeHead returns the head of a record, as interpreted with the present options. It
// returns false if the record is invalid, or if its Vary would now differ.
func decodeHead(record []byte, o *policy.Options) (*Head, bool) {
	d := decoder{rest: record}
	if d.number() != recordVersion {
		return nil, false
	}
	status := d.number()
	requested, received := policy.Moment(d.signed()), policy.Moment(d.signed())
	tags := Tags{all: d.number() == 1}
	for range d.count() {
		tags.slots = append(tags.slots, uint32(min(d.number(), tagSlots)))
	}
	var vary []string
	for range d.count() {
		vary = append(vary, string(d.text()))
	}
	asked := d.text()
	fields := d.fields()
	if d.bad || len(d.rest) > 0 || !recordable(status, &tags, fields) {
		return nil, false
	}
	h := &Head{Response: policy.ParseResponse(int(status), fields, requested, received, o), Fields: fields, Tags: tags, varyValues: asked}
	if h.Response.VaryAll || !slices.Equal(h.Response.Vary, vary) {
		return nil, false
	}
	h.Hit = policy.HitFields(nil, fields, &h.Response, o)
	h.render(o)
	return h, h.usableWith(o)
}

// recordable reports whether decoded values may be sent to clients and be looked up.
func recordable(status uint64, tags *Tags, fields http1.Fields) bool {
	for i, slot := range tags.slots {
		if slot >= tagSlots || i > 0 && slot <= tags.slots[i-1] {
			return false
		}
	}
	for _, f := range fields {
		if !ascii.IsToken(f.Name) || !http1.ValidValue(f.Value) {
			return false
		}
	}
	return status >= 200 && status < 600 && status != 206 && status != 304
}

// decoder reads a record. After an error it returns zeros.
type decoder struct {
	rest []byte
	bad  bool
}

func (d *decoder) number() uint64 {
	v, n := binary.Uvarint(d.rest)
	if d.advance(n) {
		return v
	}
	return 0
}

func (d *decoder) signed() int64 {
	v, n := binary.Varint(d.rest)
	if d.advance(n) {
		return v
	}
	return 0
}

func (d *decoder) advance(n int) bool {
	if n <= 0 || d.bad {
		d.rest, d.bad = nil, true
		return false
	}
	d.rest = d.rest[n:]
	return true
}

// count reads a number of elements, each of which takes at least a byte.
func (d *decoder) count() int {
	n := d.number()
	if n > uint64(len(d.rest)) {
		d.rest, d.bad = nil, true
		return 0
	}
	return int(n)
}

func (d *decoder) text() []byte {
	n := d.count()
	t := d.rest[:n:n]
	d.rest = d.rest[n:]
	return t
}
