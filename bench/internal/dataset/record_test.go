package dataset

import (
	"encoding/json"
	"testing"
)

func TestRecordsMatchTheirNumbers(t *testing.T) {
	seen := map[string]bool{}
	length := len(AppendRecordGetAnswer(nil, 0))
	for i := range 3000 {
		var item struct {
			PK, SK, Bulk struct{ S string }
			N            struct{ N json.Number }
		}
		text := AppendRecord(nil, i)
		if err := json.Unmarshal(text, &item); err != nil {
			t.Fatalf("record %d: %v", i, err)
		}
		size := len("pkskbulkn") + len(item.PK.S) + len(item.SK.S) + len(item.Bulk.S) + 1 + (len(item.N.N)+1)/2
		if size < 1000 || size > 1048 {
			t.Errorf("record %d has %d bytes", i, size)
		}
		if got := len(AppendRecordGetAnswer(nil, i)); got != length {
			t.Fatalf("answers for records 0 and %d have %d and %d bytes", i, length, got)
		}
		seen[item.PK.S+item.SK.S] = true
	}
	if len(seen) != 3000 {
		t.Errorf("got %d keys of 3000 records", len(seen))
	}
}

func TestRecordRequestsAreJSON(t *testing.T) {
	for _, text := range [][]byte{
		AppendRecordKey(nil, 17), AppendRecordGet(nil, 17), AppendRecordPut(nil, 17), AppendRecordQuery(nil, 17), AppendRecordBatch(nil, 3, 4),
		AppendRecordGetAnswer(nil, 17), AppendRecordQueryAnswer(nil, 17), CreateRecords(),
	} {
		if !json.Valid(text) {
			t.Errorf("not JSON: %s", text)
		}
	}
	var reply struct{ Items []any }
	if err := json.Unmarshal(AppendRecordQueryAnswer(nil, 60), &reply); err != nil || len(reply.Items) != RecordsPerPartition {
		t.Errorf("a partition has %d records: %v", len(reply.Items), err)
	}
}
