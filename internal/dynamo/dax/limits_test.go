package dax

import (
	"bytes"
	"encoding/hex"
	"runtime"
	"testing"

	"github.com/kasoku/kasoku/internal/dynamo/dax/cbor"
)

// expectRejected sends a request that must be rejected with an allocation of at most maxAlloc
// bytes and without a request to the origin.
func (s *stage) expectRejected(request []byte, message string, maxAlloc uint64) {
	s.t.Helper()
	text := hex.EncodeToString(request)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	s.c.send(text)
	codes, got := s.c.failure()
	runtime.ReadMemStats(&after)
	if !equal(codes, []int64{4, 37, 38, 39, 46}) || !bytes.Contains([]byte(got), []byte(message)) || len(got) > 1000 {
		s.t.Errorf("got the error %v %.1000s, want %s", codes, got, message)
	}
	if n := after.TotalAlloc - before.TotalAlloc; n > maxAlloc {
		s.t.Errorf("%s: %d bytes were allocated, want at most %d", message, n, maxAlloc)
	}
	if asked := s.origin.take(); asked != "" {
		s.t.Errorf("the origin received %.100s", asked)
	}
}

// TestLongNumbers puts an item of numbers that have five bytes each and more than a hundred
// digits as text, in a list and in a set.
func TestLongNumbers(t *testing.T) {
	s := newStage(t)
	for _, tag := range []string{"", "d90cfa"} {
		const numbers = 700_000
		item := cbor.AppendArray(unhex(t, "02"+tag), numbers)
		for range numbers {
			item = append(item, 0xc4, 0x82, 0x38, 0x81, 1) // 1E-130
		}
		item = append(item, 0)
		s.expectRejected(append(cbor.AppendBytes(unhex(t, putAlice), item), null), errTooLong.Error(), 8*maxBody)
	}
}

// TestManyNames defines a list with more names of one byte than the server accepts.
func TestManyNames(t *testing.T) {
	const names = 2 << 20
	s := newStage(t)
	b := cbor.AppendArray(unhex(t, "013a495927bb"), names)
	b = append(b, bytes.Repeat([]byte{0x60}, names)...)
	s.expectRejected(b, "more than 10000 names", 24<<20)
}

// TestLongTable sends a table name of a megabyte wherever a request has one. The name is
// repeated in no error and in no log.
func TestLongTable(t *testing.T) {
	s := newStage(t)
	long := bytes.Repeat([]byte{'t'}, 1<<20)
	name, text := cbor.AppendBytes(nil, long), cbor.AppendText(nil, long)
	n := 0
	for _, around := range [][2]string{
		{"013a2c43e27e", ""},
		{"011a0fb0cc6a", "4161 f6"},
		{"013a7d8e7e56", "4161 4101 f6"},
		{"013a6fc8309b", "f6"},
		{"011a6f3d49db 81", "81 4161 f6 f6"},
	} {
		s.expectRejected(append(append(unhex(t, around[0]), name...), unhex(t, around[1])...), "TableName must be", 24<<20)
		n++
	}
	s.expectRejected(append(append(unhex(t, "013a29985cdb a1"), text...), unhex(t, "83 f4 f6 81 4161 f6")...), "TableName must be", 24<<20)
	s.expectRejected(append(append(unhex(t, "011a06ed585f a1"), text...), unhex(t, "82 4161 f6 f6")...), "TableName must be", 24<<20)
	for _, r := range s.log.wait(n + 2) {
		if len(r.Table) > longestTable {
			t.Errorf("%s: a table of %d bytes in the log", r.Operation, len(r.Table))
		}
	}
}

// TestLongKey sends a key that is too long. It consists of control characters, so its JSON
// would be six times as long.
func TestLongKey(t *testing.T) {
	s := newStage(t)
	key := cbor.AppendBytes(unhex(t, "011a0fb0cc6a 44 54616231"), make([]byte, 4<<20))
	s.expectRejected(append(key, null), "a key of 4194304 bytes", 48<<20)
}

// TestNullItemCollectionMetrics uses an origin that explicitly returns null item collection
// metrics: the write succeeds.
func TestNullItemCollectionMetrics(t *testing.T) {
	s := newStage(t)
	s.origin.setAnswer(200, `{"ItemCollectionMetrics":{}}`)
	s.expect(putAlice+"4101 bf 06 01 ff", `PutItem {"TableName":"Tab1","Item":{"pk":{"S":"alice"}},"ReturnItemCollectionMetrics":"SIZE"}`, "80 f6")
	s.origin.setAnswer(200, `{"ItemCollectionMetrics":{"Tab1":[{}]}}`)
	s.c.expect("011a06ed585f a1 64 54616231 82 43 626f62 f6 bf 06 01 ff", "80 a0 80 a0")
	s.c.expect("013a4524c569 8107 814454616231 8143626f62 81f6 f6 8101 81f6 81f6 bf 06 01 ff", "80 83 80 80 a0")
	s.origin.setAnswer(200, `{"ItemCollectionMetrics":{"Tab1":[{},{"ItemCollectionKey":{"pk":{"S":"b"}},"SizeEstimateRangeGB":[0,1]}]}}`)
	s.c.expect("011a06ed585f a1 64 54616231 82 43 626f62 f6 bf 06 01 ff", "80 a0 80 a1 6454616231 81 54 6162 fb0000000000000000 fb3ff0000000000000")
}

// TestCanceledWithoutList cancels a transaction because of an item whose attributes can't be
// numbered: the reply has the error without the item.
func TestCanceledWithoutList(t *testing.T) {
	s := newStage(t)
	s.origin.setAnswer(400, `{"__type":"com.amazonaws.dynamodb.v20120810#TransactionCanceledException","Message":"no",`+
		`"CancellationReasons":[{"Code":"ConditionalCheckFailed","Item":{"pk":{"S":"alice"},"disk":{"N":"1"}}}]}`)
	s.c.expect("013a4524c569 8102 814454616231 8145616c696365 814101 f6 8102 81f6 81f6 f6",
		"85 04 1825 1826 1827 183a 626e6f 84 6452455131 781c5472616e73616374696f6e43616e63656c6564457863657074696f6e 190190 83"+
			"76436f6e646974696f6e616c436865636b4661696c6564 f6 f6")
}
