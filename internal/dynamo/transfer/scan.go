package transfer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// segment is a part of a table that is scanned alone. Its fields are in states.
type segment struct {
	Position json.RawMessage `json:"position,omitempty"` // the key after which it continues
	End      bool            `json:"end,omitempty"`
}

// scan calls do with each page of a segment, from its position on: with the items, and the
// position after the page.
func (c *caller) scan(ctx context.Context, t *table, number, total int, consistent bool, s segment, do func(items [][]byte, after segment) error) error {
	for !s.End {
		body := wire.AppendQuoted([]byte(`{"TableName":`), []byte(t.name))
		if total > 1 {
			body = strconv.AppendInt(append(body, `,"Segment":`...), int64(number), 10)
			body = strconv.AppendInt(append(body, `,"TotalSegments":`...), int64(total), 10)
		}
		if consistent {
			body = append(body, `,"ConsistentRead":true`...)
		}
		if len(s.Position) > 0 {
			body = append(append(body, `,"ExclusiveStartKey":`...), s.Position...)
		}
		answer, err := c.call(ctx, "Scan", append(body, '}'))
		if err != nil {
			return fmt.Errorf("table %s: %w", t.name, err)
		}
		var members [2][]byte
		if !wire.Collect(answer, []string{"Items", "LastEvaluatedKey"}, members[:]) || wire.Kind(members[0]) != '[' {
			return errors.New("the answer of Scan has no items")
		}
		var items [][]byte
		for it := wire.Array(members[0]); it.Next(); {
			items = append(items, it.Value())
		}
		next := segment{Position: bytes.Clone(members[1]), End: members[1] == nil}
		if !next.End && bytes.Equal(next.Position, s.Position) {
			return fmt.Errorf("table %s: a page of Scan ends where it begins", t.name)
		}
		if err := do(items, next); err != nil {
			return err
		}
		s = next
	}
	return nil
}
