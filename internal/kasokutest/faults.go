package kasokutest

import (
	"fmt"

	"github.com/kasoku/kasoku/internal/dynamo/embedded/faults"
)

// SetFaults makes the store fail requests by a plan, in JSON, which replaces an earlier one. For
// example, every third PutItem is throttled, and the answer to a DeleteItem is lost:
//
//	{"seed": 1, "rules": [
//		{"operations": "PutItem", "every": 3, "error": "ProvisionedThroughputExceededException"},
//		{"operations": "DeleteItem", "count": 1, "reset": true, "executed": true}
//	]}
//
// The same plan and the same requests have the same faults. docs/faults.md in Kasoku's
// repository describes all fields. A plan with a mistake is refused, and changes nothing. An
// empty plan, {}, ends the faults. Forks begin without faults.
func (s *Store) SetFaults(plan string) error {
	p, err := faults.Parse([]byte(plan))
	if err == nil {
		err = s.store.SetFaults(p)
	}
	if err != nil {
		return fmt.Errorf("kasokutest: %w", err)
	}
	return nil
}

// SplitShards closes the open shards of the streams of tables, or of all tables if none are given, and
// returns how many. Two others follow each, with half of its partitions each, or one if the
// stream has 64 open shards. A name may have * for any text and ? for one character.
func (s *Store) SplitShards(tables ...string) (int, error) {
	n, err := s.store.SplitShards(tables)
	if err != nil {
		return n, fmt.Errorf("kasokutest: %w", err)
	}
	return n, nil
}
