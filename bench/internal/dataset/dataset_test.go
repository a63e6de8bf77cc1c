package dataset

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestItemsMatchTheirNumbers(t *testing.T) {
	for _, set := range []Set{Even, Mixed} {
		seen := map[string]bool{}
		for i := range 3000 {
			text := set.AppendItem(nil, i)
			if len(text) != set.ItemLen(i) {
				t.Fatalf("%s %d: %d bytes, ItemLen returns %d", set.Table, i, len(text), set.ItemLen(i))
			}
			var item struct {
				PK, SK, Bulk struct{ S string }
				N            struct{ N json.Number }
			}
			if err := json.Unmarshal(text, &item); err != nil {
				t.Fatalf("%s %d: %v", set.Table, i, err)
			}
			if n := len(item.Bulk.S); n != set.BulkLen(i) || n < set.Min || n > set.Max {
				t.Fatalf("%s %d: bulk of %d bytes", set.Table, i, n)
			}
			if n := len(item.PK.S) + len(item.SK.S); n != KeyLen {
				t.Fatalf("%s %d: key of %d bytes", set.Table, i, n)
			}
			seen[item.PK.S+item.SK.S] = true
		}
		if len(seen) != 3000 {
			t.Errorf("%s: got %d keys of 3000 items", set.Table, len(seen))
		}
	}
}

func TestAnswersHaveExpectedLength(t *testing.T) {
	for _, set := range []Set{Even, Mixed} {
		for _, text := range [][]byte{
			set.AppendGetAnswer(nil, 17), set.AppendQueryAnswer(nil, 17), set.AppendBatchAnswer(nil, []int{1, 17}), set.AppendTableAnswer(nil), set.CreateTable(),
			set.AppendGet(nil, 17), set.AppendPut(nil, 17), set.AppendQuery(nil, 17), set.AppendBatchGet(nil, 3, 4, 5), set.AppendBatchPut(nil, 3, 4),
		} {
			if !json.Valid(text) {
				t.Errorf("not JSON: %s", text)
			}
		}
		if got := len(set.AppendGetAnswer(nil, 17)); got != set.GetAnswerLen(17) {
			t.Errorf("%s: GetItem's answer has %d bytes, GetAnswerLen returns %d", set.Table, got, set.GetAnswerLen(17))
		}
	}
}

func TestKeysOfRequests(t *testing.T) {
	f := func(body string, want ...int) {
		t.Helper()
		if got := Keys(nil, []byte(body)); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", body, got, want)
		}
	}
	f(string(Even.AppendGet(nil, 123456)), 123456)
	f(string(Even.AppendQuery(nil, 123456)), 123450)
	f(string(Mixed.AppendBatchGet(nil, 5, 3, 1_000_001)), 5, 1_000_006, 2_000_007)
	f(`{"Key": {"sk": {"S": "s7"}, "pk": {"S": "p00000012"}}, "TableName": "bench"}`, 127)
	f(`{"TableName":"bench","ConsistentRead":true,"a":"p0000001","b":"s","c":"sx"}`)
	f(``)
	f(`"p000000`)
}

func TestRequestsAreWellFormed(t *testing.T) {
	body := Even.AppendGet(nil, 3)
	signed, err := Signed("GetItem", body, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range [][]byte{AppendRequest(nil, "GetItem", body), signed} {
		rest := bufio.NewReader(bytes.NewReader(text))
		r, err := http.ReadRequest(rest)
		if err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		got, err := io.ReadAll(r.Body)
		if err != nil || !bytes.Equal(got, body) || rest.Buffered() != 0 {
			t.Errorf("body %q, %v, %d bytes left", got, err, rest.Buffered())
		}
		auth := r.Header.Get("Authorization")
		if r.Header.Get("X-Amz-Target") != "DynamoDB_20120810.GetItem" || !strings.HasPrefix(auth, "AWS4-HMAC-SHA256 Credential="+AccessKey+"/") {
			t.Errorf("head is wrong: %v", r.Header)
		}
	}
	if !bytes.Contains(signed, []byte("X-Amz-Date: 20260102T030405Z\r\n")) {
		t.Errorf("the date isn't that of the signature: %s", signed)
	}
}
