package config

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/kasoku/kasoku/internal/memcached/ring"
	"github.com/kasoku/kasoku/internal/memcached/value"
)

// TestDistributions checks that the file accepts exactly the distributions of package ring.
func TestDistributions(t *testing.T) {
	name, _ := reflect.TypeFor[Distribution]().FieldByName("Name")
	if got := strings.Split(name.Tag.Get("enum"), "|"); !slices.Equal(got, ring.Names()) {
		t.Errorf("the file accepts %v, want %v", got, ring.Names())
	}
}

// TestWriterProfiles checks that the file accepts exactly the profiles of package value.
func TestWriterProfiles(t *testing.T) {
	values, _ := reflect.TypeFor[Memcached]().FieldByName("Values")
	if got := strings.Split(values.Tag.Get("enum"), "|"); !slices.Equal(got, value.Profiles()) {
		t.Errorf("the file accepts %v, want %v", got, value.Profiles())
	}
}

// TestRing compares the server of a key by a configuration's ring with the server that the client
// library chooses.
func TestRing(t *testing.T) {
	f := func(more string, want int) {
		t.Helper()
		text := `
services:
  counts:
    type: memcached
    listen: 127.0.0.1:10080
    servers: ["127.0.0.1:20000", {address: "10.9.9.9:1", label: "127.0.0.1:20001"}, "127.0.0.1:20002"]
    distribution: {name: cmf-ketama, points: 150` + more + `
    locations: [{path: /, key: a}]
`
		c, err := Parse("k.yaml", []byte(text), environment)
		if err != nil {
			t.Fatal(err)
		}
		r, err := c.Service("counts").Memcached.Ring()
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Find([]byte("c%d")); got != want {
			t.Errorf("got server %d, want %d, with%s", got, want, more)
		}
	}
	direct := func(key string) int {
		r, err := ring.New(ring.Config{Name: "cmf-ketama", Points: 150, Servers: []ring.Server{
			{Label: "127.0.0.1:20000", Weight: 1}, {Label: "127.0.0.1:20001", Weight: 1}, {Label: "127.0.0.1:20002", Weight: 1},
		}})
		if err != nil {
			t.Fatal(err)
		}
		return r.Find([]byte(key))
	}
	if direct("c%d") == direct("c%25d") || direct("c%d") == direct("nc%d") {
		t.Fatal("the keys are on one server, so the test compares nothing")
	}
	f("}", direct("c%d"))
	f("}\n    key_escape: nginx-lower", direct("c%25d"))
	f("}\n    namespace: n", direct("c%d"))
	f(", hash_namespace: true}\n    namespace: n", direct("nc%d"))
}
