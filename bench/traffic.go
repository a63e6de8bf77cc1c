package main

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"sync/atomic"
	"time"

	"github.com/kasoku/kasoku/bench/internal/dataset"
	"github.com/kasoku/kasoku/bench/internal/load"
)

// traffic is the requests of a scenario and the checks of their answers.
type traffic struct {
	next  func(conn int, dst []byte) []byte
	check func(conn, status int, body []byte) error
	all   [][]byte // all requests, if there are few

	secure *tls.Config // nil: plain TCP
	nagle  bool        // Nagle's algorithm on

	// For another protocol than HTTP, see load.Config.
	greeting []byte
	frame    func(answer []byte) (length int, whole bool, err error)
	// group is the number of requests that are sent together and counted as one by
	// load.Run; 0: 1.
	group int
}

// maxConns bounds the connections of a run, for state per connection.
const maxConns = 1024

// hits returns traffic of prepared requests, drawn at random, whose answers all have the
// same length.
func hits(requests [][]byte, length int) traffic {
	var dice [maxConns]struct {
		state uint64
		_     [7]uint64 // one cache line each
	}
	for i := range dice {
		dice[i].state = rand.Uint64() | 1
	}
	return traffic{
		all: requests,
		next: func(conn int, _ []byte) []byte {
			d := &dice[conn].state
			*d ^= *d << 13
			*d ^= *d >> 7
			*d ^= *d << 17
			return requests[*d%uint64(len(requests))]
		},
		check: ofLength(length),
	}
}

// ofLength returns a check that accepts answers of status 200 and exactly that length.
func ofLength(want int) func(int, int, []byte) error {
	return func(_, status int, body []byte) error {
		if status != 200 || len(body) != want || body[0] != '{' {
			return fmt.Errorf("status %d with %d bytes instead of 200 with %d: %.200q", status, len(body), want, body)
		}
		return nil
	}
}

// numbered returns a load.Config.Next that makes requests 0, 1, 2 and so on, on any
// connection.
func numbered(request func(dst []byte, k int) []byte) func(int, []byte) []byte {
	var serial atomic.Int64
	return func(_ int, dst []byte) []byte { return request(dst, int(serial.Add(1)-1)) }
}

func prepare(n int, request func(k int) []byte) [][]byte {
	requests := make([][]byte, n)
	for k := range requests {
		requests[k] = request(k)
	}
	return requests
}

func getHits(items int) (traffic, error) {
	set := dataset.Even
	return hits(prepare(items, func(i int) []byte {
		return dataset.AppendRequest(nil, "GetItem", set.AppendGet(nil, i))
	}), set.GetAnswerLen(0)), nil
}

// signedHits signs again on each call, because signatures expire.
func signedHits(items int) (traffic, error) {
	set := dataset.Even
	now := time.Now()
	var failed error
	requests := prepare(items, func(i int) []byte {
		request, err := dataset.Signed("GetItem", set.AppendGet(nil, i), now)
		failed = errors.Join(failed, err)
		return request
	})
	return hits(requests, set.GetAnswerLen(0)), failed
}

func queryHits(items int) (traffic, error) {
	set := dataset.Even
	return hits(prepare(items/dataset.PerPartition, func(k int) []byte {
		return dataset.AppendRequest(nil, "Query", set.AppendQuery(nil, k*dataset.PerPartition))
	}), len(set.AppendQueryAnswer(nil, 0))), nil
}

func batchHits(items int) (traffic, error) {
	set := dataset.Even
	step := items / dataset.BatchSize
	return hits(prepare(step, func(k int) []byte {
		return dataset.AppendRequest(nil, "BatchGetItem", set.AppendBatchGet(nil, k, dataset.BatchSize, step))
	}), len(set.AppendBatchAnswer(nil, make([]int, dataset.BatchSize)))), nil
}

// puts returns traffic that overwrites items with equal ones.
func puts(items int) (traffic, error) {
	set := dataset.Even
	return hits(prepare(items, func(i int) []byte {
		return dataset.AppendRequest(nil, "PutItem", set.AppendPut(nil, i))
	}), len("{}")), nil
}

func recordGets(items int) (traffic, error) {
	return hits(prepare(items, func(i int) []byte {
		return dataset.AppendRequest(nil, "GetItem", dataset.AppendRecordGet(nil, i))
	}), len(dataset.AppendRecordGetAnswer(nil, 0))), nil
}

// recordPuts returns traffic that overwrites records with equal ones.
func recordPuts(items int) (traffic, error) {
	return hits(prepare(items, func(i int) []byte {
		return dataset.AppendRequest(nil, "PutItem", dataset.AppendRecordPut(nil, i))
	}), len("{}")), nil
}

func recordQueries(items int) (traffic, error) {
	return hits(prepare(items/dataset.RecordsPerPartition, func(k int) []byte {
		return dataset.AppendRequest(nil, "Query", dataset.AppendRecordQuery(nil, k*dataset.RecordsPerPartition))
	}), len(dataset.AppendRecordQueryAnswer(nil, 0))), nil
}

// misses returns traffic that never requests an item twice, in any call of the run.
func misses() func(int) (traffic, error) {
	set := dataset.Even
	var serial atomic.Int64
	serial.Store(1_000_000)
	return func(int) (traffic, error) {
		return traffic{
			next: func(_ int, dst []byte) []byte {
				var body [256]byte
				return dataset.AppendRequest(dst, "GetItem", set.AppendGet(body[:0], int(serial.Add(1))))
			},
			check: ofLength(set.GetAnswerLen(0)),
		}, nil
	}
}

// anyOf returns requests for items of the mixed set; each answer must have its item's
// length.
func anyOf(items int) traffic {
	set := dataset.Mixed
	var asked [maxConns]int
	return traffic{
		next: func(conn int, dst []byte) []byte {
			asked[conn] = rand.IntN(items)
			var body [256]byte
			return dataset.AppendRequest(dst, "GetItem", set.AppendGet(body[:0], asked[conn]))
		},
		check: func(conn, status int, body []byte) error {
			if status != 200 || len(body) != set.GetAnswerLen(asked[conn]) {
				return fmt.Errorf("item %d: status %d with %d bytes instead of 200 with %d: %.200q",
					asked[conn], status, len(body), set.GetAnswerLen(asked[conn]), body)
			}
			return nil
		},
	}
}

// fill requests items 0 to n of set in batches, so that a cache stores them.
func (l *lab) fill(addr string, set dataset.Set, n int) error {
	const each = 100
	result, err := load.Run(l.ctx, load.Config{
		Addr: addr, Conns: 16, Count: uint64((n + each - 1) / each), Timeout: time.Minute,
		Next: numbered(func(dst []byte, k int) []byte {
			return dataset.AppendRequest(dst, "BatchGetItem", set.AppendBatchGet(nil, k*each, each, 1))
		}),
	})
	if err = errors.Join(err, result.Err); err != nil {
		return fmt.Errorf("fill the cache: %w", err)
	}
	return nil
}

// probe reads a few items from a server with each operation and compares the answers with
// the items.
func probe(addr string, items int) error {
	set := dataset.Even
	var failed error
	for _, i := range []int{0, items / 3, items - 1} {
		failed = errors.Join(failed,
			expect(addr, "GetItem", set.AppendGet(nil, i), set.AppendGetAnswer(nil, i)),
			expect(addr, "Query", set.AppendQuery(nil, i), set.AppendQueryAnswer(nil, i)))
	}
	return errors.Join(failed,
		expect(addr, "BatchGetItem", set.AppendBatchGet(nil, 7, 1, 1), set.AppendBatchAnswer(nil, []int{7})))
}

// probeRecords is probe for the records of a store.
func probeRecords(addr string, items int) error {
	var failed error
	for _, i := range []int{0, items / 3, items - 1} {
		failed = errors.Join(failed,
			expect(addr, "GetItem", dataset.AppendRecordGet(nil, i), dataset.AppendRecordGetAnswer(nil, i)),
			expect(addr, "Query", dataset.AppendRecordQuery(nil, i), dataset.AppendRecordQueryAnswer(nil, i)))
	}
	return failed
}

// expect sends a signed request and compares the answer's body with JSON of the same
// meaning.
func expect(addr, operation string, body, want []byte) error {
	request, err := dataset.Signed(operation, body, time.Now())
	if err != nil {
		return err
	}
	got, err := ask(addr, request)
	if err != nil {
		return fmt.Errorf("%s: %w", operation, err)
	}
	if !sameJSON(got, want) {
		return fmt.Errorf("%s at %s answers %.400s instead of %.400s", operation, addr, got, want)
	}
	return nil
}

func sameJSON(a, b []byte) bool {
	var x, y any
	if json.NewDecoder(bytes.NewReader(a)).Decode(&x) != nil || json.NewDecoder(bytes.NewReader(b)).Decode(&y) != nil {
		return false
	}
	return reflect.DeepEqual(x, y)
}
