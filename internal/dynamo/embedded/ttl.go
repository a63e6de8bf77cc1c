package embedded

import (
	"encoding/binary"
	"math"
	"strconv"

	"github.com/kasoku/kasoku/internal/dynamo/embedded/catalog"
	"github.com/kasoku/kasoku/internal/dynamo/embedded/kv"
	"github.com/kasoku/kasoku/internal/dynamo/value"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// The expiry index of tables with a time to live:
//
//	x table second item    nothing: the item, its key without the table's part,
//	                       expires at that second

// expiryKey returns the key of an item's entry in the expiry index. It returns false if the
// item never expires.
func expiryKey(dst []byte, t *catalog.Table, key []byte, m *image) ([]byte, bool) {
	if !m.exists() {
		return dst, false
	}
	second, ok := expiresAt(m.tree.Get(t.TTL.Attribute))
	if !ok {
		return dst, false
	}
	dst = binary.BigEndian.AppendUint64(appendTable(dst, spaceExpiry, t.ID), uint64(second))
	return append(dst, key[hashStart:]...), true
}

// expirySecond and expiryItem are the offsets of the second and of the item in the key of an
// entry.
const (
	expirySecond = 1 + 8
	expiryItem   = expirySecond + 8
)

// itemOfExpiry returns the key of an entry's item.
func itemOfExpiry(table uint64, entry []byte) []byte {
	return append(appendIndex(nil, table, tableIndex), entry[expiryItem:]...)
}

// expiresAt reads a time to live: the first whole second since 1970 that is not before it.
// It returns false for values that are not a time, and for times in the far future.
func expiresAt(v *value.Value) (second int64, ok bool) {
	if v == nil || v.Type != value.Number {
		return 0, false
	}
	t, err := strconv.ParseFloat(string(v.Text), 64)
	if err != nil || t < 0 || t > 1<<52 {
		return 0, false
	}
	return int64(math.Ceil(t)), true
}

// writeExpiry updates the entry of the change's item in the expiry index.
func (e *edit) writeExpiry(c *change) {
	info := c.t.info
	if info.TTL == nil {
		return
	}
	before, was := expiryKey(nil, info, c.key, &c.old)
	after, is := expiryKey(nil, info, c.key, &c.new)
	if was && is && string(before) == string(after) {
		return
	}
	if was {
		e.b.Delete(before)
	}
	if is {
		e.b.Set(after, nil)
	}
}

func (c *call) updateTimeToLive() error {
	r, err := catalog.ReadTTL(c.body)
	if err != nil {
		return err
	}
	err = c.s.alter(c.tableName(), c.now, func(info *catalog.Table, b kv.Batch) (*catalog.Table, error) {
		next, err := info.SetTTL(r, c.now)
		if err == nil && next.TTL == nil {
			entries := appendTable(nil, spaceExpiry, info.ID)
			b.DeleteRange(entries, prefixEnd(nil, entries))
			b.Delete(cursorKey(nil, info.ID, tableIndex))
		}
		return next, err
	})
	if err != nil {
		return err
	}
	if r.Enabled {
		c.s.backfill.wake()
	}
	c.out = append(c.out, `{"TimeToLiveSpecification":{"Enabled":`...)
	c.out = strconv.AppendBool(c.out, r.Enabled)
	c.out = append(c.out, `,"AttributeName":`...)
	c.out = wire.AppendQuoted(c.out, []byte(r.Attribute))
	c.out = append(c.out, "}}"...)
	return nil
}

func (c *call) describeTimeToLive() error {
	info, err := c.s.info(c.tableName())
	if err != nil {
		return err
	}
	if info.TTL == nil {
		c.out = append(c.out, `{"TimeToLiveDescription":{"TimeToLiveStatus":"DISABLED"}}`...)
		return nil
	}
	c.out = append(c.out, `{"TimeToLiveDescription":{"TimeToLiveStatus":"ENABLED","AttributeName":`...)
	c.out = wire.AppendQuoted(c.out, []byte(info.TTL.Attribute))
	c.out = append(c.out, "}}"...)
	return nil
}
