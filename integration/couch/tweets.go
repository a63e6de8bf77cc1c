package couch

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// TweetCount is the number of documents that Tweets creates; each is 1.5 KB as JSON.
const TweetCount = 5000

// Design is the design document "_design/tweets" of Tweets: views by_date and
// by_user, list html, show html, filter mine and update hit.
const Design = `{"views":{
"by_date":{"map":"function(doc) { if (doc.type == 'tweet') emit(doc.created_at, {text: doc.text, user: doc.user.screen_name}); }"},
"by_user":{"map":"function(doc) { if (doc.type == 'tweet') emit(doc.user.screen_name, 1); }","reduce":"_sum"}},
"lists":{"html":"function(head, req) { start({headers: {'Content-Type': 'text/html; charset=utf-8'}}); send('<ol>'); var row; while (row = getRow()) send('<li><b>' + row.value.user + '</b> ' + row.value.text + '</li>\\n'); return '</ol>'; }"},
"shows":{"html":"function(doc, req) { return {headers: {'Content-Type': 'text/html; charset=utf-8'}, body: '<p>' + (doc ? doc.text : 'nothing') + '</p>'}; }"},
"filters":{"mine":"function(doc, req) { return doc.type == 'tweet'; }"},
"updates":{"hit":"function(doc, req) { doc = doc || {_id: req.id}; doc.hits = (doc.hits || 0) + 1; return [doc, JSON.stringify({hits: doc.hits})]; }"}}`

// Tweets fills db, which must exist, with the data of a blog's measurements of 2010: count
// tweets with the ids t00000, t00001 ... and the design document.
func (n *Node) Tweets(t testing.TB, db string, count int) {
	t.Helper()
	n.Must(t, "PUT", "/"+db+"/_design/tweets", Design)
	const batch = 500
	for from := 0; from < count; from += batch {
		var docs []json.RawMessage
		for i := from; i < min(from+batch, count); i++ {
			docs = append(docs, json.RawMessage(Tweet(i)))
		}
		body, err := json.Marshal(map[string]any{"docs": docs})
		if err != nil {
			t.Fatal(err)
		}
		n.Must(t, "POST", "/"+db+"/_bulk_docs", string(body))
	}
}

// Count returns the number of documents in db.
func (n *Node) Count(t testing.TB, db string) int {
	t.Helper()
	var info struct {
		Count int `json:"doc_count"`
	}
	if err := json.Unmarshal([]byte(n.Must(t, "GET", "/"+db, "").Body), &info); err != nil {
		t.Fatal(err)
	}
	return info.Count
}

// tweetSize is the length of a tweet's JSON without _rev.
const tweetSize = 1500

// Tweet returns the JSON of tweet i.
func Tweet(i int) string {
	head := fmt.Sprintf(`{"_id":"t%05d","type":"tweet","created_at":%d,"text":"tweet %d of a quiet afternoon: nothing much happens, and it happens slowly","user":{"screen_name":"user%d","followers":%d},"padding":"`,
		i, 1262304000+i*60, i, i%97, i*7%1000)
	return head + strings.Repeat("x", tweetSize-len(head)-2) + `"}`
}
