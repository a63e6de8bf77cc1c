package ring_test

import (
	"fmt"

	"github.com/kasoku/kasoku/internal/memcached/ring"
)

// The ring of Cache::Memcached::Fast with ketama_points => 150 finds the server of a key.
func Example() {
	servers := []ring.Server{{Label: "127.0.0.1:20000", Weight: 1}, {Label: "127.0.0.1:20001", Weight: 1}}
	r, err := ring.New(ring.Config{Name: "cmf-ketama", Points: 150, Namespace: "testapp::", Servers: servers})
	if err != nil {
		panic(err)
	}
	fmt.Println(servers[r.Find([]byte("100::7"))].Label)
	// Output: 127.0.0.1:20000
}
