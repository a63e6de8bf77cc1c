package dataset

import (
	"encoding/hex"
	"testing"

	"github.com/kasoku/kasoku/internal/dynamo/dax/cbor"
)

func TestDAXRequests(t *testing.T) {
	const (
		get = "011a0fb0cc6a" + "4562656e6368" + "4c69703030303030303031" + "7332" + "bfff"
		put = "013a7d8e7e56" + "4562656e6368" + "4c69703030303030303031" + "7332"
	)
	if got := hex.EncodeToString(Even.AppendDAXGet(nil, 12)); got != get {
		t.Errorf("got %s, want %s", got, get)
	}
	const query = "013a3781c2ae" + "4562656e6368" + "57" + "83018300821262706b82110081" + "69703030303030303031" + "bfff"
	if got := hex.EncodeToString(Even.AppendDAXQuery(nil, 12)); got != query {
		t.Errorf("got %s, want %s", got, query)
	}
	const batch = "013a29985cdb" + "a1" + "6562656e6368" + "83f4f682" + "4c69703030303030303031" + "7332" + "4c69703030303030303032" + "7334" + "bfff"
	if got := hex.EncodeToString(Even.AppendDAXBatchGet(nil, 12, 2, 12)); got != batch {
		t.Errorf("got %s, want %s", got, batch)
	}
	got := Even.AppendDAXPut(nil, 12, 7)
	if hex.EncodeToString(got[:len(put)/2]) != put {
		t.Errorf("got %x, want %s", got, put)
	}
	r := cbor.NewReader(got[len(put)/2:])
	item := cbor.NewReader(r.Bytes())
	list, _ := item.Uint()
	if bulk := item.Text(); list != 7 || string(bulk) != string(Even.bulk(12)) || item.Int() != 100_000_012 || item.Close() != nil {
		t.Errorf("list %d, %d bytes of bulk", list, len(bulk))
	}
	if n := r.Map(); r.More(&n) || r.Close() != nil {
		t.Error("the options are not an empty map")
	}
}

func TestDAXGreeting(t *testing.T) {
	var s cbor.Scanner
	s.Begin(5)
	b := DAXGreeting()
	if end, whole, err := s.Scan(b); end != len(b) || !whole || err != nil {
		t.Errorf("%x is not a sequence of five values", b)
	}
}

// TestDAXFrame parses answers byte by byte, followed by other bytes.
func TestDAXFrame(t *testing.T) {
	for _, answer := range []string{
		"80bf004901182a65416c696365ff", "80f6", "8002", "8304171820616ef6",
	} {
		b, err := hex.DecodeString(answer)
		if err != nil {
			t.Fatal(err)
		}
		for n := range b {
			if _, whole, err := DAXFrame(b[:n]); whole || err != nil {
				t.Fatalf("%s: after %d bytes whole %v, error %v", answer, n, whole, err)
			}
		}
		if n, whole, err := DAXFrame(append(b, 0xf6)); n != len(b) || !whole || err != nil {
			t.Errorf("%s: %d, %v, %v", answer, n, whole, err)
		}
	}
}
