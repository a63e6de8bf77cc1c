package embedded

import (
	"bytes"
	"errors"

	"github.com/kasoku/kasoku/internal/dynamo/embedded/catalog"
	"github.com/kasoku/kasoku/internal/dynamo/embedded/faults"
	"github.com/kasoku/kasoku/internal/dynamo/value"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// errCollectionSize is the error for a write by which an item collection exceeds its limit.
var errCollectionSize = &wire.Error{Type: "ItemCollectionSizeLimitExceededException", Message: faults.CollectionSize}

// checkCollection returns errCollectionSize if a write of after, which the edit does not have yet,
// makes its item collection larger than the plan of faults allows. Writes that make a collection
// smaller are allowed. Only tables with local indexes have item collections.
func (c *call) checkCollection(e *edit, t *table, key []byte, old *image, after *value.Value) error {
	if c.modes == nil || after == nil || !t.info.HasLocal() {
		return nil
	}
	limit := c.modes.set.Plan().ItemCollectionLimit
	if limit == 0 {
		return nil
	}
	size := after.ItemSize() + localSize(t.info, after)
	if old.exists() && size <= old.size+localSize(t.info, old.tree) {
		return nil
	}
	partition := appendPartition(nil, t.info.ID, tableIndex, after.Get(t.info.Key.Hash[0].Name))
	written := map[string]bool{string(key): true}
	for _, w := range e.changes {
		if !bytes.HasPrefix(w.key, partition) {
			continue
		}
		written[string(w.key)] = true
		if w.new.exists() {
			size += w.new.size + localSize(t.info, w.new.tree)
		}
	}
	others, err := c.partitionSize(t.info, partition, written, limit-size)
	if err == nil && size+others > limit {
		return errCollectionSize
	}
	return err
}

// partitionSize returns the size of the items of a partition with their entries in local indexes,
// without those under some keys. It stops reading when the size exceeds limit.
func (c *call) partitionSize(t *catalog.Table, partition []byte, without map[string]bool, limit int) (size int, err error) {
	it, err := c.s.db.Iter(partition, prefixEnd(nil, partition))
	if err != nil {
		return 0, err
	}
	defer it.Close()
	for ok := it.First(); ok && size <= limit; ok = it.Next() {
		if without[string(it.Key())] {
			continue
		}
		n, text, err := splitImage(it.Value())
		if err != nil {
			return 0, err
		}
		m := image{there: true, size: n, text: text}
		if err := m.parse(); err != nil {
			return 0, err
		}
		size += m.size + localSize(t, m.tree)
	}
	return size, it.Error()
}

// limitReason returns the reason why checkCollection cancels a transaction; nil if err is not
// errCollectionSize.
func limitReason(err error) *reason {
	if !errors.Is(err, errCollectionSize) {
		return nil
	}
	return &reason{"ItemCollectionSizeLimitExceeded", errCollectionSize}
}
