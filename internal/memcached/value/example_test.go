package value_test

import (
	"bytes"
	"compress/gzip"
	"fmt"

	"github.com/kasoku/kasoku/internal/memcached/value"
)

// A value that was stored compressed is decoded for a client without gzip.
func Example() {
	var stored bytes.Buffer
	w := gzip.NewWriter(&stored)
	w.Write([]byte(`{"count":1000}`))
	w.Close()

	v, reason := value.Raw.Inspect(0, stored.Bytes())
	if reason != value.OK {
		panic(reason)
	}
	plain, err := v.AppendPlain(nil, 1<<20)
	if err != nil {
		panic(err)
	}
	fmt.Println(v.Coding == value.Identity, string(plain))
	// Output: false {"count":1000}
}
