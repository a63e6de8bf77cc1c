package api_test

import (
	"fmt"

	"github.com/kasoku/kasoku/internal/couch/api"
)

func ExampleClassify() {
	r := api.Classify([]byte("GET"), nil, []byte("/db/_design/tweets/_view/by_date"), []byte("limit=10&descending=true"))
	fmt.Println(r.Class, r.Kind, r.Node)
	fmt.Printf("%s %s\n", r.AppendDB(nil), r.AppendKey(nil))
	// Output:
	// read result any
	// db /db/_design/tweets/_view/by_date?descending=true&limit=10
}

func ExampleMembersOf() {
	var scratch []byte
	for m := api.MembersOf([]byte(`{"id":"a","changes":[{"rev":"1-x"}]}`)); m.Next(); {
		if m.Is("id") {
			fmt.Printf("%s\n", m.Text(&scratch))
		}
	}
	// Output: a
}
