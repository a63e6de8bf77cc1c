package telemetry

import "testing"

func TestTraceID(t *testing.T) {
	const id, parent = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
	f := func(field, want string) {
		t.Helper()
		if got := string(TraceID([]byte(field))); got != want {
			t.Errorf("%s: got %q, want %q", field, got, want)
		}
	}
	f("00-"+id+"-"+parent+"-01", id)
	f("cc-"+id+"-"+parent+"-01", id)
	f("cc-"+id+"-"+parent+"-01-more", id)
	f("00-"+id+"-"+parent+"-01-more", "")
	f("cc-"+id+"-"+parent+"-01.more", "")
	f("ff-"+id+"-"+parent+"-01", "")
	f("0x-"+id+"-"+parent+"-01", "")
	f("00-"+id+"-"+parent+"-0", "")
	f("00-"+id+"-"+parent+"-0X", "")
	f("00_"+id+"-"+parent+"-01", "")
	f("00-"+id+"_"+parent+"-01", "")
	f("00-"+id+"-"+parent+"_01", "")
	f("00-4BF92f3577b34da6a3ce929d0e0e4736-"+parent+"-01", "")
	f("00-00000000000000000000000000000000-"+parent+"-01", "")
	f("00-"+id+"-0000000000000000-01", "")
	f("", "")
}
