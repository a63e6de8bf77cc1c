// Command release prints the version and the revision that the checked out commit is released as.
package main

import (
	"flag"
	"fmt"
	"log"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("release: ")
	root := flag.String("root", "../..", "the `directory` of the source")
	dirty := flag.Bool("dirty", false, "accept a tree with uncommitted changes, for a test")
	flag.Parse()
	r, err := newRelease(*root, *dirty)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(r.version, r.commit, r.time.Format("2006-01-02"))
}
