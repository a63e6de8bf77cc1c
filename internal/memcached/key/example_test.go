package key_test

import (
	"fmt"

	"github.com/kasoku/kasoku/internal/memcached/key"
)

// A path captures a segment, and a template makes the key from it and from an argument.
func Example() {
	path, err := key.ParsePath("/users/{id}/profile")
	if err != nil {
		panic(err)
	}
	template, err := key.Parse("profile:${path.id}:${arg.lang:-en}", path)
	if err != nil {
		panic(err)
	}
	q := key.Request{Path: []byte("/users/7/profile"), Query: []byte("lang=ja")}
	fmt.Println(path.Match(q.Path, &q.Captures))
	k, ok := template.Append(nil, &q)
	fmt.Println(string(k), ok)
	// Output:
	// true
	// profile:7:ja true
}
