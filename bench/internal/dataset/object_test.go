package dataset

import (
	"bufio"
	"bytes"
	"encoding/json"
	"net/http"
	"testing"
)

func TestObjects(t *testing.T) {
	for _, size := range []int{SmallObject, LargeObject} {
		r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(AppendObjectRequest(nil, size, 17))))
		if err != nil {
			t.Fatal(err)
		}
		if s, k, ok := ParseObject([]byte(r.URL.Path)); s != size || k != 17 || !ok {
			t.Errorf("%s is object %d of size %d, %v", r.URL.Path, k, s, ok)
		}
		var object struct {
			Object int
			Text   string
		}
		b := AppendObject(nil, size, 17)
		if err := json.Unmarshal(b, &object); err != nil || len(b) != size || object.Object != 17 {
			t.Errorf("%d bytes, object %d, %v", len(b), object.Object, err)
		}
	}
	for _, path := range []string{"", "/", "/object/", "/object/1500", "/object/1500/x", "/object/1/1", "/object/99999999/1", "/object/1500/-1"} {
		if _, _, ok := ParseObject([]byte(path)); ok {
			t.Errorf("%s is accepted as an object", path)
		}
	}
}
