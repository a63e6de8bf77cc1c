package store

import (
	"slices"

	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/httpcache/policy"
)

// AddGroups adds the groups that the response says it is in (Cache-Groups, RFC 9875)
// to what it can be purged by. A group is one of its own origin's, so it goes with
// the scheme and host of key. It is called before anybody else sees the head.
func (h *Head) AddGroups(key []byte) *Head {
	groups := policy.Groups(h.Fields, "cache-groups")
	if len(groups) == 0 || h.Tags.all {
		return h
	}
	if len(h.Tags.slots)+len(groups) > maxTags {
		h.Tags = Tags{all: true}
		return h
	}
	for _, g := range groups {
		h.Tags.slots = append(h.Tags.slots, groupSlot(key, g))
	}
	slices.Sort(h.Tags.slots)
	h.Tags.slots = slices.Clip(slices.Compact(h.Tags.slots))
	return h
}

// groupSlot is a group's place among the tags. No tag has a line feed.
func groupSlot(key []byte, group string) uint32 {
	site := key[:len(key)-len(TargetOf(key))]
	return tagSlot(append(append(site[:len(site):len(site)], '\n'), group...))
}

// InvalidateGroups puts the groups out of reach that the answer to an unsafe method
// names in Cache-Group-Invalidation: those of the origin of key.
func (s *Store) InvalidateGroups(key []byte, answer http1.Fields) {
	groups := policy.Groups(answer, "cache-group-invalidation")
	for _, g := range groups {
		s.purges.addSlot(&s.purges.hard, groupSlot(key, g))
	}
	if len(groups) > 0 {
		_ = s.applyToWholeDisk() // the tier has reported it
	}
}
