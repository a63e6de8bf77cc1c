package embedded

import "testing"

// TestReplyMemory checks that the replies of several calls don't share memory, and that a reply
// uses the request's buffer if it fits.
func TestReplyMemory(t *testing.T) {
	s := withTables(t)
	type kept struct {
		body []byte
		text string
	}
	var all []kept
	f := func(op, body string, buf []byte, borrows bool) {
		t.Helper()
		r := request(op, body)
		r.Buf = buf
		resp, err := s.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, kept{resp.Body, string(resp.Body)})
		if _, want := s.send(t, op, body); string(resp.Body) != want {
			t.Errorf("%s %s: got %s; want %s", op, body, resp.Body, want)
		}
		if got := buf != nil && &buf[:1][0] == &resp.Body[0]; got != borrows {
			t.Errorf("%s %s: got in the request's buffer %v, want %v", op, body, got, borrows)
		}
	}
	for i := range 3 {
		s.mustSend(t, "PutItem", `{"TableName":"plain","Item":`+kilobyte(i)+`}`)
	}
	get := func(key string) string { return `{"TableName":"plain","Key":{"p":{"S":"` + key + `"}}}` }
	f("GetItem", get("key00000000"), make([]byte, 0, 4<<10), true)
	f("GetItem", get("key00000001"), nil, false)
	f("GetItem", get("key00000002"), make([]byte, 0, 16), false)
	f("GetItem", get("none"), make([]byte, 0, 16), true)
	f("GetItem", `{"TableName":"absent","Key":{"p":{"S":"a"}}}`, make([]byte, 0, 4<<10), true)
	f("GetItem", get("key00000000"), nil, false)
	for _, k := range all {
		if string(k.body) != k.text {
			t.Errorf("a reply was changed to %s from %s", k.body, k.text)
		}
	}
}
