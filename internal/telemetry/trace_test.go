package telemetry

import (
	"encoding/hex"
	"testing"
)

func TestIsSampled(t *testing.T) {
	for flags, want := range map[string]bool{"00": false, "01": true, "02": false, "03": true, "0a": false, "0b": true, "f0": false, "ff": true} {
		field := []byte("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-" + flags)
		if got := IsSampled(field); got != want {
			t.Errorf("%s: got %v", flags, got)
		}
	}
}

// TestNewTrace checks that a trace continues that of a valid field and begins one otherwise, and that
// the field for the origin has the new parent and the known flags only.
func TestNewTrace(t *testing.T) {
	const id, parent = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
	f := func(field, wantID, wantParent, wantFlags string) {
		t.Helper()
		tr := NewTrace([]byte(field))
		sent := tr.Traceparent()
		if TraceID(sent) == nil {
			t.Fatalf("%q: the field for the origin is not valid: %s", field, sent)
		}
		if got := string(tr.HexID()); got != string(TraceID(sent)) || got != hex.EncodeToString(tr.ID[:]) {
			t.Errorf("%q: the id is %s, and in the field %s", field, got, sent)
		}
		if wantID != "" && string(tr.HexID()) != wantID {
			t.Errorf("%q: the id is %s", field, tr.HexID())
		}
		if got := hex.EncodeToString(tr.Parent[:]); got != wantParent {
			t.Errorf("%q: the parent is %s", field, got)
		}
		if got := string(sent[:3]) + string(sent[idEnd+1:]); got != "00-"+hex.EncodeToString(tr.Origin[:])+"-"+wantFlags {
			t.Errorf("%q: got %s", field, sent)
		}
		if tr.Span == tr.Origin || tr.Span == tr.Parent || tr.Span == [8]byte{} {
			t.Errorf("%q: spans %x and %x of %x", field, tr.Span, tr.Origin, tr.Parent)
		}
	}
	const none = "0000000000000000"
	f("00-"+id+"-"+parent+"-01", id, parent, "01")
	f("00-"+id+"-"+parent+"-03", id, parent, "03")
	f("cc-"+id+"-"+parent+"-fd-more", id, parent, "01")
	f("", "", none, "03")
	f("00-"+id+"-"+parent, "", none, "03")
	if a, b := NewTrace(nil), NewTrace(nil); a.ID == b.ID || a.Span == b.Span {
		t.Errorf("two traces are alike: %s and %s", a.Traceparent(), b.Traceparent())
	}
}
