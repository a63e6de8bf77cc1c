package store

import (
	"bytes"
	"slices"

	"github.com/cespare/xxhash/v2"

	"github.com/kasoku/kasoku/internal/ascii"
	"github.com/kasoku/kasoku/internal/http1"
)

// maxTags is the maximum number of tags of a response. One with more is purged with any tag.
const maxTags = 256

// Tags are the surrogate tags of a response, as slots of the table of purged tags. Two tags
// that share a slot are purged together: this costs unneeded misses, and never serves a
// purged response.
type Tags struct {
	slots []uint32
	all   bool // there are more than maxTags: it matches every tag
}

// tagSlots is the number of slots. A table is allocated by the first purge of a tag.
const tagSlots = 1 << 18

func tagSlot(tag []byte) uint32 { return uint32(xxhash.Sum64(tag)) % tagSlots }

// ParseTags reads the tags of a response: the words of its Surrogate-Key fields, and the
// comma-separated members of its Cache-Tag fields. Tags are case-sensitive.
func ParseTags(fields http1.Fields) Tags {
	var t Tags
	for _, f := range fields {
		switch {
		case ascii.EqualFold(f.Name, "surrogate-key"):
			t.add(f.Value, " \t")
		case ascii.EqualFold(f.Name, "cache-tag"):
			t.add(f.Value, ",")
		}
	}
	slices.Sort(t.slots)
	t.slots = slices.Clip(slices.Compact(t.slots))
	return t
}

func (t *Tags) add(list []byte, separators string) {
	for len(list) > 0 && !t.all {
		tag, rest := list, []byte(nil)
		if i := bytes.IndexAny(list, separators); i >= 0 {
			tag, rest = list[:i], list[i+1:]
		}
		list = rest
		if tag = bytes.Trim(tag, " \t"); len(tag) == 0 {
			continue
		}
		if len(t.slots) == maxTags {
			*t = Tags{all: true}
			return
		}
		t.slots = append(t.slots, tagSlot(tag))
	}
}

// InheritTags lets a response be purged also by the tags of the response that it was made
// from, by a 304 or by its completion: the new fields may lack a tag that was purged while
// the origin was asked. It must be called before h is shared.
func (h *Head) InheritTags(from *Head) *Head {
	own, tags := h.Tags, from.Tags
	if from.ownTags != nil {
		tags = *from.ownTags
	}
	h.ownTags = &own
	if h.Tags.all = own.all || tags.all; h.Tags.all {
		h.Tags.slots = nil
		return h
	}
	h.Tags.slots = slices.Concat(own.slots, tags.slots)
	slices.Sort(h.Tags.slots)
	h.Tags.slots = slices.Clip(slices.Compact(h.Tags.slots))
	return h
}
