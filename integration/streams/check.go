// Package streams checks that Kasoku follows DynamoDB streams: writes at the origin, past
// Kasoku, are visible through it in time, whatever happens to the stream.
package streams

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"
)

// version is a write of an item. The version of an item is its number in the order of writes.
// Version 0 is the item's absence before the first write.
type version struct {
	group   string // the item's key in the index, "" if the write deletes the item
	past    bool   // the write was sent to the store, past Kasoku
	sent    time.Duration
	acked   time.Duration // never while the write is in flight
	measure bool          // the time until the write is visible counts for the statistics
}

const never = time.Duration(math.MaxInt64)

// item is an item with all of its versions. It has one writer.
type item struct {
	p string
	s int

	mu       sync.Mutex
	versions []version
}

// absent is the version that an answer without the item has.
const absent = -1

// sighting is the state of an item in an answer.
type sighting struct {
	item    *item
	version int
	// group is the key of a query of the index, "" for other operations. An item that is absent
	// from the answer may then have another group.
	group          string
	operation      string
	node           int
	hit            bool
	sent, received time.Duration
}

// shows reports whether a read of version n gets the sighting.
func (s *sighting) shows(n int, v *version) bool {
	if s.version != absent {
		return s.version == n && v.group != "" && (s.group == "" || s.group == v.group)
	}
	return v.group == "" || s.group != "" && s.group != v.group
}

// violation is a sighting that lacks a write.
type violation struct {
	sighting
	lacks int // the version that it should have shown at least
	write version
}

func (v *violation) String() string {
	by := "through Kasoku"
	if v.write.past {
		by = "past Kasoku"
	}
	source := "origin"
	if v.hit {
		source = "hit"
	}
	seen := fmt.Sprintf("version %d", v.version)
	if v.version == absent {
		seen = "no item"
	}
	return fmt.Sprintf("%s of %s/%d %q through node %d (%s), sent at %s: got %s, but version %d was written %s and acknowledged %s before",
		v.operation, v.item.p, v.item.s, v.group, v.node, source, v.sent.Round(time.Millisecond), seen, v.lacks, by,
		(v.sent - v.write.acked).Round(time.Millisecond))
}

// check compares the sightings with the items' versions. No sighting may lack a write through
// Kasoku that was acknowledged before its request was sent, or a write past Kasoku that was
// acknowledged earlier than bound before. unseen has, for each measured write past Kasoku, the
// longest time after its acknowledgement at which a request was sent whose answer lacked it.
func check(sightings []sighting, bound time.Duration) (violations []violation, unseen []time.Duration) {
	delays := map[*item][]time.Duration{}
	for i := range sightings {
		s := &sightings[i]
		versions := s.item.versions
		delay := delays[s.item]
		if delay == nil {
			delay = make([]time.Duration, len(versions))
			delays[s.item] = delay
		}
		// The newest version that may be visible, the newest one that must be, and the newest
		// one that the answer can be of.
		newest := len(versions) - 1
		for versions[newest].sent > s.received {
			newest--
		}
		required := newest
		for required > 0 && !s.requires(required, bound) {
			required--
		}
		shown := newest
		for shown >= 0 && !s.shows(shown, &versions[shown]) {
			shown--
		}
		if shown < required {
			violations = append(violations, violation{*s, required, versions[required]})
		}
		for n := newest; n > max(shown, 0); n-- {
			if v := &versions[n]; v.past && v.acked < s.sent {
				delay[n] = max(delay[n], s.sent-v.acked)
			}
		}
	}
	for it, delay := range delays {
		for n, d := range delay {
			if v := &it.versions[n]; v.past && v.measure && v.acked != never {
				unseen = append(unseen, d)
			}
		}
	}
	slices.Sort(unseen)
	slices.SortFunc(violations, func(a, b violation) int { return cmp.Compare(a.sent, b.sent) })
	return violations, unseen
}

// requires reports whether the sighting must show version n or a later one.
func (s *sighting) requires(n int, bound time.Duration) bool {
	v := &s.item.versions[n]
	if v.acked == never {
		return false
	}
	// A write through Kasoku changes the index where the item was before and where it is then.
	// Another page of it may have the item of before an earlier write past Kasoku.
	if !v.past && (s.group == "" || s.group == v.group || s.group == s.item.versions[n-1].group) {
		return s.sent > v.acked
	}
	return s.sent-v.acked > bound
}
