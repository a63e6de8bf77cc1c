package store

import (
	"bytes"
	"slices"

	"github.com/cespare/xxhash/v2"

	"github.com/kasoku/kasoku/internal/ascii"
	"github.com/kasoku/kasoku/internal/http1"
)

// maxTags is how many tags of a response are told apart. One with more is purged
// with any tag.
const maxTags = 256

// Tags are the surrogate tags of a response, as places in the table of purged
// tags. Two tags that share a place are purged together, which costs needless
// misses and never leaves a purged response in reach.
type Tags struct {
	slots []uint32
	all   bool // there were too many to tell apart: every tag fits
}

// tagSlots is how many places there are. They are made for a service when a tag
// is purged for the first time.
const tagSlots = 1 << 18

func tagSlot(tag []byte) uint32 { return uint32(xxhash.Sum64(tag)) % tagSlots }

// ParseTags reads the tags that the origin gave a response: the words of its
// Surrogate-Key fields, and the members of its Cache-Tag fields, which commas
// separate. Tags differ by case.
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

// InheritTags lets a response be purged by the tags of the one that it was made from,
// too: by a 304, or by what completed it. These may have taken a tag away of which a
// purge has come while the origin was asked. It is called before anybody else sees
// the head.
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
