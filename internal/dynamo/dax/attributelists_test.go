package dax

import (
	"context"
	"encoding/hex"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/dynamo/dax/cbor"
	"github.com/kasoku/kasoku/internal/dynamo/dax/lists"
)

// TestListShare checks that a key that has used its share of lists leaves the others theirs.
func TestListShare(t *testing.T) {
	registry, err := lists.Open(lists.Config{Dir: t.TempDir(), Max: 8})
	if err != nil {
		t.Fatal(err)
	}
	defer registry.Close()
	r := newRig(t, withKeys(t), func(c *Config) { c.Lists = registry }) // of four keys
	number := func(c *client, list string) string {
		c.send("013a495927bb81" + hex.EncodeToString(cbor.AppendText(nil, list)))
		return c.reply(2)
	}
	greedy := r.hello("Python")
	greedy.send(authorizeCall("FULL", "one", time.Now()))
	first := number(greedy, "a")
	number(greedy, "b")
	greedy.expectError("013a495927bb816163", "the access key has had as many lists of attributes numbered as one of several keys may", 4, 37, 38, 39, 49)
	if again := number(greedy, "a"); again != first {
		t.Errorf("the number of a list changed from %s to %s", first, again)
	}
	other := r.hello("Python")
	other.send(authorizeCall("SOME", "two", time.Now()))
	number(other, "c")
	number(greedy, "c") // numbered by the other key
}

// TestFindListOfItem writes an item with the number of a list that only another node has.
func TestFindListOfItem(t *testing.T) {
	s := newStage(t, func(cfg *Config) {
		cfg.FindList = func(_ context.Context, id uint64) ([]string, bool) { return []string{"age"}, id == 77 }
	})
	s.origin.setAnswer(200, "{}")
	s.c.expect(putAlice+"44 184d182a bfff", "80 f6")
	const want = `PutItem {"TableName":"Tab1","Item":{"pk":{"S":"alice"},"age":{"N":"42"}}`
	if got := s.origin.take(); !strings.HasPrefix(got, want) {
		t.Errorf("the origin received %s, want %s", got, want)
	}
	s.c.expectError(putAlice+"44 184e182a bfff", "The item could not be read", 4, 37, 38, 39, 46)
}

// TestFindList looks for lists that only another node has.
func TestFindList(t *testing.T) {
	var asked []uint64
	loopback(t, func(cfg *Config) {
		cfg.FindList = func(ctx context.Context, id uint64) ([]string, bool) {
			if _, ok := ctx.Deadline(); !ok {
				t.Error("a look-up without a deadline")
			}
			asked = append(asked, id)
			return []string{"age"}, id == 77
		}
	}, func(t *testing.T, r *rig) {
		const id, names = "013a495927bb", "011a27f9bd71"
		c := r.hello("Python")
		asked = nil
		c.expect(names+"184d", "80 81 63616765")
		c.expectError(names+"184e", "no attribute list", 4, 37, 38, 39, 46)
		c.expect(id+"8163616765", "80 02")
		c.expect(names+"02", "80 81 63616765")
		c.expectError(names+"20", "no attribute list", 4, 37, 38, 39, 46)
		if want := []uint64{77, 78}; !slices.Equal(asked, want) {
			t.Errorf("asked for %d, want %d", asked, want)
		}
	})
}

func TestAttributeLists(t *testing.T) {
	const id, names = "013a495927bb", "011a27f9bd71"
	loopback(t, nil, func(t *testing.T, r *rig) {
		c := r.hello("Python")
		c.expect(id+"80", "80 01")
		c.expect(id+"8263616765646e616d65", "80 02")
		c.expect(id+"82646e616d6563616765", "80 03") // the order counts
		c.expect(id+"9f63616765646e616d65ff", "80 02")
		c.expect(id+"d90cf98263616765646e616d65", "80 02") // a set, as Java writes it
		c.expect(names+"01", "80 80")
		c.expect(names+"02", "80 82 63616765 646e616d65")
		c.expect(names+"03", "80 82 646e616d65 63616765")
		c.expectError(names+"04", "no attribute list", 4, 37, 38, 39, 46)
		c.expectError(names+"20", "no attribute list", 4, 37, 38, 39, 46)
		c.expectError(names+"6161", "could not be read", 4, 37, 38, 39, 46)
		c.expectError(id+"01", "could not be read", 4, 37, 38, 39, 46)
		c.expectError(id+"d90cfa8101", "could not be read", 4, 37, 38, 39, 46)
		c.expectError(id+"8101", "could not be read", 4, 37, 38, 39, 46)
		c.expectError(id+"8161ff", "could not be read", 4, 37, 38, 39, 46)
		c.expectError(id+"816464 69736b", "the disk is full", 1, 37, 38, 39, 47)
		for _, n := range []int{1100, 1101} {
			list := cbor.AppendArray(unhex(t, id), n)
			for range n {
				list = cbor.AppendText(list, "a")
			}
			if n == 1100 {
				c.expect(hex.EncodeToString(list), "80 04")
			} else {
				c.expect(id+"816162", "80 05")
				c.expectError(hex.EncodeToString(list), "too many names", 4, 37, 38, 39, 46)
			}
		}
		c.expectError(id+"816163", "as many lists", 4, 37, 38, 39, 49)
	})
}
