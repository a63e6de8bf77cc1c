package accel

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/edge"
	"github.com/kasoku/kasoku/internal/testutil/race"
)

// TestBatchReplyLimit checks that the reply to a batch is limited to DynamoDB's size, and that
// the other keys are returned as unprocessed.
func TestBatchReplyLimit(t *testing.T) {
	if race.Enabled {
		return // all of it runs in one goroutine, and would be slow
	}
	s, p := withParrot(t)
	var keys, items []string
	text := strings.Repeat("x", 200<<10)
	for i := range MaxBatchKeys {
		keys = append(keys, fmt.Sprintf(`{"p":{"S":"a"},"s":{"N":"%d"}}`, i))
		items = append(items, fmt.Sprintf(`{"p":{"S":"a"},"s":{"N":"%d"},"v":{"S":"%s"}}`, i, text))
	}
	p.reply = `{"Responses":{"t":[` + strings.Join(items, ",") + `]},"UnprocessedKeys":{}}`
	body := `{"RequestItems":{"t":{"Keys":[` + strings.Join(keys, ",") + `]}}}`
	x := edge.Detached(t.Context(), request("BatchGetItem"), []byte(body), time.Now())
	s.Serve(x)
	var got struct {
		Responses       map[string][]json.RawMessage
		UnprocessedKeys map[string]struct{ Keys []json.RawMessage }
	}
	if err := json.Unmarshal(x.Reply.Body, &got); err != nil {
		t.Fatal(err)
	}
	answered, left := len(got.Responses["t"]), len(got.UnprocessedKeys["t"].Keys)
	if answered+left != MaxBatchKeys || answered != MaxBatchReply/len(items[0]) {
		t.Errorf("%d keys answered, %d unprocessed", answered, left)
	}
}
