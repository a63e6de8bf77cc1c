package store

import (
	"context"
	"slices"

	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/httpcache/policy"
)

// AddGroups adds the groups of the response (Cache-Groups, RFC 9875) to its tags. A group
// belongs to one origin, the scheme and host of key. It must be called before h is shared.
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

// groupSlot returns the slot of a group among the tags. A tag has no line feed, so a group
// never equals a tag.
func groupSlot(key []byte, group string) uint32 {
	site := key[:len(key)-len(TargetOf(key))]
	return tagSlot(append(append(site[:len(site):len(site)], '\n'), group...))
}

// InvalidateGroups invalidates the groups of key's origin that the answer to an unsafe
// method names in Cache-Group-Invalidation, at all members of a cluster. After an error other
// members may serve old responses for a while; they get the invalidation later.
func (s *Store) InvalidateGroups(ctx context.Context, key []byte, answer http1.Fields) error {
	var slots []uint32
	for _, g := range policy.Groups(answer, "cache-group-invalidation") {
		slots = append(slots, groupSlot(key, g))
	}
	if slots == nil {
		return nil
	}
	defer s.space.Cache().BeginAnnouncement()()
	s.invalidateSlots(slots)
	err := s.broadcast(ctx, announcement{Slots: slots})
	if err != nil {
		s.late.addSlots(s, slots)
	}
	return err
}

// invalidateSlots invalidates groups on this member.
func (s *Store) invalidateSlots(slots []uint32) {
	for _, slot := range slots {
		s.purges.addSlot(&s.purges.hard, slot%tagSlots)
	}
	_ = s.applyToWholeDisk() // the tier logs it
}
