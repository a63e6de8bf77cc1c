package value

import (
	"testing"

	"github.com/kasoku/kasoku/internal/testutil/race"
)

var (
	flatText   = []byte(`{"id":{"S":"user-00001001"},"name":{"S":"Ada Lovelace"},"born":{"N":"1815"},"score":{"N":"99.5"},"active":{"BOOL":true},"bio":{"S":"a rather long text without escapes, as most are"}}`)
	nestedText = []byte(`{"id":{"S":"user-00001001"},"tags":{"L":[{"S":"math"},{"S":"engine"}]},"address":{"M":{"city":{"S":"London"},"zip":{"S":"W1"}}},"roles":{"SS":["a","b"]}}`)
	codedText  = []byte(`{"id":{"S":"user-00001001"},"photo":{"B":"AAECAwQFBgcICQoLDA0ODw=="},"note":{"S":"two\nlines"},"more":{"S":"two\nlines"}}`)
	keyText    = []byte(`{"id":{"S":"user-00001001"}}`)
)

// TestAllocs checks that the reader has one allocation for each list, set or map, and one for
// all text that differs from its spelling. Parse has one more for the copy of the text.
func TestAllocs(t *testing.T) {
	if race.Enabled {
		return
	}
	f := func(name string, want float64, do func()) {
		t.Helper()
		if n := testing.AllocsPerRun(200, do); n > want {
			t.Errorf("%s allocates %v times; want %v", name, n, want)
		}
	}
	f("flat", 1, func() { Stored(flatText) })
	f("nested", 4, func() { Stored(nestedText) })
	f("coded", 2, func() { Stored(codedText) })
	f("key", 2, func() { ParseItem(keyText) })
	v, _ := Stored(nestedText)
	w, _ := Stored(nestedText)
	buf := make([]byte, 0, 4096)
	f("AppendItem", 0, func() { v.AppendItem(buf) })
	f("ItemSize", 0, func() { v.ItemSize() })
	f("Equal", 0, func() { v.Equal(&w) })
	f("AppendKey", 0, func() { v.Get("id").AppendKey(buf) })
	f("Compare", 0, func() { Compare(v.Get("id"), w.Get("id")) })
}

func BenchmarkRead(b *testing.B) {
	for name, f := range map[string]func(){
		"StoredFlat":   func() { Stored(flatText) },
		"StoredNested": func() { Stored(nestedText) },
		"StoredCoded":  func() { Stored(codedText) },
		"ParseFlat":    func() { ParseItem(flatText) },
		"ParseKey":     func() { ParseItem(keyText) },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				f()
			}
		})
	}
}
