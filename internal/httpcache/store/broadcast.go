package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/kasoku/kasoku/internal/purge"
)

// announcement is an invalidation that is no tag of the cache, as sent to the other members
// of a cluster: a purge, or groups.
type announcement struct {
	Kind  purge.Kind `json:"kind,omitempty"`
	Text  string     `json:"text,omitempty"`
	Soft  bool       `json:"soft,omitempty"`
	Slots []uint32   `json:"slots,omitempty"` // of groups; the rest is empty then
}

// Share makes the store carry out the purges of the store of the same name on other members
// of a cluster, and them its own. It must be called before the store is used.
func (s *Store) Share(name string) {
	s.name = "http " + name
	s.space.Cache().OnBroadcast(s.name, s.receive)
}

// broadcast sends an announcement that is in force here to the other members. It returns when
// all have carried it out.
func (s *Store) broadcast(ctx context.Context, a announcement) error {
	if s.name == "" {
		return nil
	}
	message, err := json.Marshal(a)
	if err != nil {
		return err
	}
	if err := s.space.Cache().Broadcast(ctx, s.name, message); err != nil {
		return fmt.Errorf("%w: %w", ErrNotEverywhere, err)
	}
	return nil
}

// receive carries out an announcement of another member. A disk that fails reports that
// itself.
func (s *Store) receive(message []byte) {
	var a announcement
	if err := json.Unmarshal(message, &a); err != nil {
		// A newer version may announce what this one does not have: drop everything.
		a = announcement{}
	}
	if a.Slots != nil {
		s.invalidateSlots(a.Slots)
		return
	}
	p := Purge{Selector: purge.By(a.Kind, a.Text), Soft: a.Soft}
	if err := s.purgeHere(p); err != nil && !errors.Is(err, ErrNotDurable) {
		_ = s.purgeHere(Purge{}) // an unknown kind
	}
}
