package admin

import (
	"encoding/json"
	"testing"

	"github.com/kasoku/kasoku/internal/purge"
)

// A request of each kind is encoded as one member, and decoded to an equal request.
func TestPurgeRequest(t *testing.T) {
	f := func(r PurgeRequest, want string) {
		t.Helper()
		data, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if want != "" && string(data) != want {
			t.Errorf("encoded as %s; want %s", data, want)
		}
		var body purgeBody
		if err := json.Unmarshal(data, &body); err != nil {
			t.Fatal(err)
		}
		if got, err := body.request(); err != nil || got.Selector != r.Selector || got.Soft != r.Soft || got.Table != r.Table {
			t.Errorf("%s is decoded as %#v, %v; want %#v", data, got, err, r)
		}
	}
	f(PurgeRequest{Service: "s"}, `{"service":"s"}`)
	f(PurgeRequest{Service: "s", Table: "t", Key: json.RawMessage(`{}`)}, `{"service":"s","table":"t","key":{}}`)
	f(PurgeRequest{Service: "s", Selector: purge.By(purge.URL, "http://h/a"), Soft: true}, `{"service":"s","soft":true,"url":"http://h/a"}`)
	for _, k := range purge.Kinds() {
		f(PurgeRequest{Service: "s", Selector: purge.By(k, `"<`)}, "")
	}
}
