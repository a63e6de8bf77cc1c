//go:build !kasokubroken

package cache_test

import (
	"context"
	"fmt"
	"time"

	"github.com/kasoku/kasoku/internal/cache"
)

// A fill stores an entry under a tag, and a write of the tag invalidates it.
func Example() {
	c, err := cache.New(cache.Config{Memory: 1 << 20, Generations: 1 << 10})
	if err != nil {
		panic(err)
	}
	defer c.Close()
	s, err := c.NewSpace(0)
	if err != nil {
		panic(err)
	}
	key, tags := []byte("user 7"), []cache.Tag{cache.TagOf([]byte("item user 7"))}

	a, err := s.Fill(context.Background(), key, tags, func(context.Context, *cache.Stamp) (cache.Filling, error) {
		return cache.Filling{Payload: []byte("Ada"), TTL: time.Minute}, nil // from the origin
	})
	if err != nil {
		panic(err)
	}
	fmt.Printf("filled: %s\n", a.Entry.Payload())
	_, found, _ := s.Lookup(key, c.Now())
	fmt.Println("fresh:", found == cache.Fresh)

	w, err := c.Begin(context.Background(), tags, nil)
	if err != nil {
		panic(err) // only with a coordinator: the write must not be sent
	}
	// Here the write is sent to the origin.
	if _, err := w.Commit(context.Background(), cache.Change{Cause: cache.ByWrite, Tags: tags}); err != nil {
		panic(err)
	}
	_, found, _ = s.Lookup(key, c.Now())
	fmt.Println("invalidated:", found == cache.Invalidated)
	// Output:
	// filled: Ada
	// fresh: true
	// invalidated: true
}
