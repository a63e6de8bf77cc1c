// Package service tests services of type couchdb with CouchDB-like nodes from the users'
// view.
package service

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/kasoku/kasoku/integration/couch"
	"github.com/kasoku/kasoku/integration/harness"
)

// size is the size of the blog's tests.
type size struct {
	tweets   int
	requests int // of each run of ab
	cut      int // rows of the long list
}

// full is true for tests of the size of 2010, which need the machine for themselves.
var full = os.Getenv("KASOKU_BLOG") == "full"

// blog returns the size of 2010 with KASOKU_BLOG=full, and otherwise one that takes seconds.
func blog() size {
	if full {
		return size{tweets: couch.TweetCount, requests: 1000, cut: 526}
	}
	return size{tweets: 100, requests: 60, cut: 20}
}

// pair starts two nodes that replicate the database "tweets" both ways, with the given
// number of tweets and with built views.
func pair(t testing.TB, tweets int) (a, b *couch.Node) {
	t.Helper()
	a, b = couch.Disk(t), couch.Disk(t)
	couch.Pair(t, a, b, "tweets")
	a.Tweets(t, "tweets", tweets)
	couch.Await(t, "the tweets on the other node", func() bool { return b.Count(t, "tweets") == tweets+1 })
	for _, n := range []*couch.Node{a, b} {
		n.Must(t, "GET", "/tweets"+view, "")
	}
	return a, b
}

const view = "/_design/tweets/_view/by_date?limit=10&descending=true"

func list(rows int) string { return fmt.Sprintf("/_design/tweets/_list/html/by_date?limit=%d", rows) }

// startKasoku starts a Kasoku in front of nodes at the given URLs.
func startKasoku(t testing.TB, urls []string, service ...string) *harness.Node {
	t.Helper()
	return harness.Start(t, harness.Options{Type: "couchdb", Origin: strings.Join(urls, ", "), Service: service})
}

// client returns a couch.Node that sends requests to another URL.
func client(url string) *couch.Node { return &couch.Node{URL: url} }
