package dataset

import (
	"encoding/json"
	"testing"
)

func TestTweets(t *testing.T) {
	var all struct {
		Docs []struct {
			ID string `json:"_id"`
		}
	}
	if err := json.Unmarshal(AppendTweets(nil, 7, 3), &all); err != nil || len(all.Docs) != 3 || all.Docs[2].ID != "t00009" {
		t.Errorf("tweets 7 to 9: %v, %v", all, err)
	}
	for _, i := range []int{0, 4999} {
		if got := len(AppendTweet(nil, i)); got != TweetSize {
			t.Errorf("tweet %d has %d bytes", i, got)
		}
	}
	if !json.Valid([]byte(TweetDesign)) {
		t.Error("the design document is no JSON")
	}
}
