package memcached

import (
	"reflect"
	"testing"

	"github.com/kasoku/kasoku/integration/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }

// TestServer checks the test servers and the writer, on which other tests rely.
func TestServer(t *testing.T) {
	s := Start(t)
	WritePerl(t, Options{"servers": []string{s.Addr}, "namespace": "n:"}, map[string]string{"ключ": "значение", "k": "v\r\nEND\r\n"})
	s.Set(t, "n:set", 7, 100, "")
	want := map[string]Item{"n:ключ": {Value: []byte("значение")}, "n:k": {Value: []byte("v\r\nEND\r\n")}, "n:set": {Value: []byte{}, Flags: 7}}
	if held := s.Held(t, "n:ключ", "n:k", "n:set", "n:none"); !reflect.DeepEqual(held, want) {
		t.Errorf("the server holds %v, want %v", held, want)
	}
	if ever, some := s.TTL(t, "n:k"), s.TTL(t, "n:set"); ever != -1 || some < 1 || some > 100 {
		t.Errorf("got lifetimes of %d and %d s, want -1 and up to 100", ever, some)
	}
	s.Delete(t, "n:k")
	if held := s.Held(t, "n:k"); len(held) != 0 {
		t.Errorf("after the deletion the server holds %v", held)
	}
	s.Kill()
	s.Restart(t)
	if held := s.Held(t, "n:set"); len(held) != 0 {
		t.Errorf("after a restart the server holds %v, want nothing", held)
	}
}
