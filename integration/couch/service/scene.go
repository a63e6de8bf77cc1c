// Package service tests services of type couchdb before CouchDB-like nodes as their
// users meet them.
package service

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/kasoku/kasoku/integration/couch"
	"github.com/kasoku/kasoku/integration/harness"
)

// size is how much the tests of the blog do.
type size struct {
	tweets   int
	requests int // of each ab
	cut      int // rows of the long list
}

// full says that the tests have the size of 2010 and the machine for themselves.
var full = os.Getenv("KASOKU_BLOG") == "full"

// blog is the size of 2010 with KASOKU_BLOG=full, and else one that takes seconds.
func blog() size {
	if full {
		return size{tweets: couch.TweetCount, requests: 1000, cut: 526}
	}
	return size{tweets: 100, requests: 60, cut: 20}
}

// pair starts two nodes with the database "tweets", replicated both ways, with so
// many tweets and their views built.
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

// before starts a Kasoku before nodes at the given URLs.
func before(t testing.TB, urls []string, service ...string) *harness.Node {
	t.Helper()
	return harness.Start(t, harness.Options{Type: "couchdb", Origin: strings.Join(urls, ", "), Service: service})
}

// client is a couch.Node by which requests go to another URL.
func client(url string) *couch.Node { return &couch.Node{URL: url} }
