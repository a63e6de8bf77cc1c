package embedded

import (
	"sync"

	"github.com/kasoku/kasoku/internal/dynamo/embedded/faults"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// conflicts are the items of the transactions in progress, for which a plan of faults lets other
// requests fail instead of wait.
type conflicts struct {
	mu   sync.Mutex
	held map[string]bool // keys on disk, of items and of tokens
}

var (
	errConflict   = &wire.Error{Type: "TransactionConflictException", Message: faults.Conflict}
	errInProgress = &wire.Error{Type: "TransactionInProgressException", Message: faults.InProgress}
)

// find reports for each key whether a transaction in progress has it.
func (s *conflicts) find(keys [][]byte) (found []bool, any bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.findLocked(keys)
}

func (s *conflicts) findLocked(keys [][]byte) (found []bool, any bool) {
	found = make([]bool, len(keys))
	for i, key := range keys {
		found[i] = s.held[string(key)]
		any = any || found[i]
	}
	return found, any
}

// enter adds the keys of a transaction, unless another one has one of them.
func (s *conflicts) enter(keys [][]byte) (found []bool, any bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if found, any = s.findLocked(keys); !any {
		for _, key := range keys {
			s.held[string(key)] = true
		}
	}
	return found, any
}

// leave removes the keys of a transaction.
func (s *conflicts) leave(keys [][]byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, key := range keys {
		delete(s.held, string(key))
	}
}

// conflicting returns the conflicts; nil if requests wait for each other.
func (c *call) conflicting() *conflicts {
	if c.modes == nil {
		return nil
	}
	return c.modes.conflicts
}

// checkConflict returns the error for a write to an item that a transaction in progress has.
func (c *call) checkConflict(key []byte) error {
	if s := c.conflicting(); s != nil {
		if _, any := s.find([][]byte{key}); any {
			return errConflict
		}
	}
	return nil
}

// enter enters the items of the transaction and its token. The caller calls leave if there is no
// error.
func (x *transaction) enter() (leave func(), err error) {
	s := x.c.conflicting()
	if s == nil {
		return func() {}, nil
	}
	keys := keysOf(x.writes)
	if x.token != nil {
		keys = append(keys, x.token.key)
	}
	found, any := s.enter(keys)
	switch {
	case !any:
		return func() { s.leave(keys) }, nil
	case x.token != nil && found[len(x.writes)]:
		return nil, errInProgress
	}
	return nil, canceled(conflictReasons(found[:len(x.writes)]))
}

// conflictReasons returns the reasons for the actions whose items were found.
func conflictReasons(found []bool) []*reason {
	reasons := make([]*reason, len(found))
	for i, is := range found {
		if is {
			reasons[i] = &reason{"TransactionConflict", errConflict}
		}
	}
	return reasons
}

// checkConflicts returns the error for a TransactGetItems of an item that a transaction in progress
// has.
func (c *call) checkConflicts(r *transactGetRequest, tables tableSet) error {
	if c.conflicting() == nil {
		return nil
	}
	keys := make([][]byte, len(r.Gets))
	for i := range r.Gets {
		keys[i] = appendItemKey(nil, tables.find(r.Gets[i].Table).info, &r.Gets[i].Key)
	}
	return c.checkReadConflicts(keys)
}

// checkReadConflicts returns the error for a transaction that reads items, if another one in progress
// has any of them.
func (c *call) checkReadConflicts(keys [][]byte) error {
	if s := c.conflicting(); s != nil {
		if found, any := s.find(keys); any {
			return canceled(conflictReasons(found))
		}
	}
	return nil
}

// failConflicts makes the writes of a BatchExecuteStatement fail whose items a transaction in
// progress has.
func (c *call) failConflicts(statements []*batchStatement) {
	for _, m := range statements {
		if m.fault == nil {
			m.fault = c.checkConflict(m.diskKey)
		}
	}
}

// leaveConflicts returns the writes of a batch without those to items that a transaction in
// progress has, and these behind left. If there are no others, it returns the error.
func (c *call) leaveConflicts(writes, left []*itemWrite) (kept, unprocessed []*itemWrite, err error) {
	s := c.conflicting()
	if s == nil {
		return writes, left, nil
	}
	found, any := s.find(keysOf(writes))
	for i, w := range writes {
		if found[i] {
			left = append(left, w)
		} else {
			kept = append(kept, w)
		}
	}
	if any && len(kept) == 0 {
		return nil, nil, errConflict
	}
	return kept, left, nil
}
