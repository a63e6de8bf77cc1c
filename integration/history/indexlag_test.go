package history

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/kasoku/kasoku/integration/harness"
	"github.com/kasoku/kasoku/integration/model"
)

// TestIndexLag uses a global index that lags behind its table for longer than settle.
// Results from before a write are then cached, but not for long: no query that begins later
// than twice the lag after the write was acknowledged returns them. All times are the
// client's, so a slow machine only makes the check less strict.
func TestIndexLag(t *testing.T) {
	const indexLag = 700 * time.Millisecond
	db := model.New()
	db.SetLag(model.Lag{}, model.Lag{Min: indexLag, Max: indexLag})
	n := harness.Start(t, harness.Options{
		Origin:  harness.Origin(t, db),
		Service: []string{"auth: {mode: none}", "item_ttl: 5m", "query_ttl: 5m", "settle: 100ms"},
	})
	client := &http.Client{}
	call := func(operation, body string) string {
		t.Helper()
		text, err := harness.MustCall(t.Context(), client, n.URL, operation, body)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	call("CreateTable", createTable)
	pause := time.NewTicker(5 * time.Millisecond)
	defer pause.Stop()
	queries := 0
	for round := range 3 {
		call("PutItem", fmt.Sprintf(`{"TableName":"history","Item":{"p":{"S":"p"},"s":{"N":"1"},"g":{"S":"g%d"}}}`, round))
		acknowledged := time.Now()
		for shown := false; !shown; queries++ {
			<-pause.C
			begun := time.Now()
			answer := call("Query", fmt.Sprintf(`{"TableName":"history","IndexName":"by-group","KeyConditionExpression":"g = :g","ExpressionAttributeValues":{":g":{"S":"g%d"}}}`, round))
			shown = strings.Contains(answer, `"Count":1`)
			if late := begun.Sub(acknowledged); !shown && late > 2*indexLag {
				t.Fatalf("round %d: a query that began %s after the write does not show it; the index lags by %s", round, late, indexLag)
			}
		}
	}
	t.Logf("%d queries", queries)
}
