package store

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/kasoku/kasoku/internal/ascii"
	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/httpcache/policy"
)

// SharedHead is the head of a response that another member of a cluster has. The clocks of the
// members may differ, so the time of its request to the origin is sent as an age.
type SharedHead struct {
	Status int
	// Fields are those of a hit, and Age as received. Of a response for one client they are all.
	Fields http1.Fields
	// Asked is the time of the request to the origin, if no time has passed since the other
	// member encoded the head.
	Asked policy.Moment

	tags Tags
}

// AppendShared appends the encoding of h for another member. Numbers are varints, and strings
// are preceded by their length:
//
//	status, age in microseconds, 1 if the response matches any tag, number of tags, their
//	slots, number of fields, then name and value of each
//
// A validator that was made here is omitted if the other member makes the same one of the body.
func (h *Head) AppendShared(b []byte, now policy.Moment, remade bool) []byte {
	fields := h.recordFields()
	if h.Synthesized && remade {
		fields = slices.DeleteFunc(fields, func(f http1.Field) bool { return f.Is("ETag") })
	}
	return h.appendShared(b, now, fields)
}

// AppendPrivate is AppendShared for a response that the other member gives to the client for
// which it was fetched, and to no other one.
func (h *Head) AppendPrivate(b []byte, now policy.Moment) []byte {
	return h.appendShared(b, now, h.Fields)
}

func (h *Head) appendShared(b []byte, now policy.Moment, fields http1.Fields) []byte {
	r := &h.Response
	b = binary.AppendUvarint(b, uint64(r.Status))
	b = binary.AppendUvarint(b, uint64(max(0, now-r.RequestTime)))
	any := uint64(0)
	if h.Tags.all {
		any = 1
	}
	b = binary.AppendUvarint(b, any)
	b = binary.AppendUvarint(b, uint64(len(h.Tags.slots)))
	for _, t := range h.Tags.slots {
		b = binary.AppendUvarint(b, uint64(t))
	}
	return appendFields(b, fields)
}

func appendFields(b []byte, fields http1.Fields) []byte {
	b = binary.AppendUvarint(b, uint64(len(fields)))
	for _, f := range fields {
		b = appendText(appendText(b, f.Name), f.Value)
	}
	return b
}

// ParseShared parses the encoding of a head and returns what follows it. now is the time when
// the other member was asked. The result refers to b.
func ParseShared(b []byte, now policy.Moment) (h *SharedHead, rest []byte, ok bool) {
	d := decoder{rest: b}
	h = &SharedHead{}
	status, age := d.number(), d.number()
	h.tags.all = d.number() == 1
	for range d.count() {
		h.tags.slots = append(h.tags.slots, uint32(min(d.number(), tagSlots)))
	}
	h.Fields = d.fields()
	if d.bad || age > maxSharedAge || !recordable(status, &h.tags, h.Fields) {
		return nil, nil, false
	}
	h.Status, h.Asked = int(status), now-policy.Moment(age)
	return h, d.rest, true
}

// maxSharedAge bounds an age in microseconds, so that times can't overflow: some 3,000 years.
const maxSharedAge = 1e17

// fields reads a list of fields.
func (d *decoder) fields() (fields http1.Fields) {
	for range d.count() {
		fields = append(fields, http1.Field{Name: d.text(), Value: d.text()})
	}
	return fields
}

// Selectors returns fields of a request that select the response. ok is false if these are not
// known.
func (h *Head) Selectors() (fields http1.Fields, ok bool) {
	rest := h.varyValues
	for _, name := range h.Response.Vary {
		value, after, found := bytes.Cut(rest, []byte{'\n'})
		if !found || name == policy.ForwardedSite {
			return nil, false
		}
		rest = after
		if len(value) > 0 {
			fields = append(fields, http1.Field{Name: []byte(name), Value: value[1:]})
		}
	}
	return fields, !h.Response.VaryAll && len(rest) == 0
}

// AddSharedTags lets the response be purged also by the tags that it has on the other member:
// it may have inherited some. It must be called before h is shared.
func (h *Head) AddSharedTags(from *SharedHead) *Head {
	if h.Tags.all = h.Tags.all || from.tags.all; h.Tags.all {
		h.Tags.slots = nil
		return h
	}
	h.Tags.slots = slices.Concat(h.Tags.slots, from.tags.slots)
	slices.Sort(h.Tags.slots)
	h.Tags.slots = slices.Clip(slices.Compact(h.Tags.slots))
	return h
}

// AppendRequest appends a request as bytes for another member: texts and fields as in a head.
func AppendRequest(b []byte, texts [][]byte, fields http1.Fields) []byte {
	for _, t := range texts {
		b = appendText(b, t)
	}
	return appendFields(b, fields)
}

// ParseRequest parses what AppendRequest has appended to the texts and fields. It returns false
// if anything follows, or a field can't be one of a request.
func ParseRequest(b []byte, texts []*[]byte) (fields http1.Fields, ok bool) {
	d := decoder{rest: b}
	for _, t := range texts {
		*t = d.text()
	}
	fields = d.fields()
	for _, f := range fields {
		if !ascii.IsToken(f.Name) || !http1.ValidValue(f.Value) {
			return nil, false
		}
	}
	return fields, !d.bad && len(d.rest) == 0
}
