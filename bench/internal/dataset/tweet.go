package dataset

import (
	"bytes"
	"fmt"
)

// TweetSize is the length of a tweet's JSON without the revision.
const TweetSize = 1500

// TweetDesign is the design document "_design/tweets": a view by date and a list function
// that renders it.
const TweetDesign = `{"views":{"by_date":{"map":"function(doc) { if (doc.type == 'tweet') emit(doc.created_at, {text: doc.text, user: doc.user.screen_name}); }"}},
"lists":{"html":"function(head, req) { start({headers: {'Content-Type': 'text/html; charset=utf-8'}}); var row; while (row = getRow()) send('<li><b>' + row.value.user + '</b> ' + row.value.text + '</li>\\n'); return '<hr>'; }"}}`

// AppendTweet appends a document as CouchDB stores it, similar to those with which its
// proxies were measured in 2010.
func AppendTweet(dst []byte, i int) []byte {
	begin := len(dst)
	dst = fmt.Appendf(dst, `{"_id":"t%05d","type":"tweet","created_at":%d,"user":{"screen_name":"user%02d"},"text":"`, i, 1_262_304_000+i*60, i%97)
	dst = append(dst, bytes.Repeat([]byte("what happened today, and what did not. "), 8)...)
	dst = append(dst, `","source":"`...)
	for len(dst)-begin < TweetSize-2 {
		dst = append(dst, 'x')
	}
	return append(dst, `"}`...)
}

// AppendTweets appends the body of a _bulk_docs with tweets i to i+n.
func AppendTweets(dst []byte, i, n int) []byte {
	dst = append(dst, `{"docs":[`...)
	for k := i; k < i+n; k++ {
		if k > i {
			dst = append(dst, ',')
		}
		dst = AppendTweet(dst, k)
	}
	return append(dst, `]}`...)
}
