package disk_test

import (
	"fmt"
	"os"

	"github.com/kasoku/kasoku/internal/dynamo/embedded/disk"
)

func ExampleDB() {
	dir, err := os.MkdirTemp("", "disk")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	db, err := disk.Open(dir, disk.Options{})
	if err != nil {
		panic(err)
	}
	defer db.Close()

	b := db.NewBatch()
	defer b.Close()
	b.Set([]byte("a"), []byte("1"))
	b.Set([]byte("b"), []byte("2"))
	if err := db.Apply(b); err != nil { // visible to readers
		panic(err)
	}
	if err := db.Wait(b); err != nil { // on disk
		panic(err)
	}
	v, ok, err := db.Get([]byte("b"))
	if err != nil || !ok {
		panic(err)
	}
	defer v.Close()
	fmt.Println(string(v.Bytes))
	// Output: 2
}
