package embedded

import (
	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// writeUnits returns the cost of writing that many bytes, for example 2 for 1,025 bytes.
func writeUnits(size int) float64 { return float64(max(1, (size+1023)/1024)) }

// readUnits returns the cost of reading that many bytes; an eventually consistent read costs
// half.
func readUnits(size int, consistent bool) float64 {
	units := float64(max(1, (size+4095)/4096))
	if consistent {
		return units
	}
	return units / 2
}

// consumed is the capacity that a request has consumed on one table.
type consumed struct {
	named   string // the table as the request names it
	table   float64
	indexes []indexCost
	// failed is the cost of failed statements, which counts only in the total.
	failed float64
	// kind is "Read" or "Write" in a transaction, else empty.
	kind string
}

func (s *consumed) write(c *change) {
	s.table += writeUnits(max(c.old.size, c.new.size))
	s.writeIndexCosts(c)
}

func (s *consumed) writeIndexCosts(c *change) {
	for _, a := range c.indexes {
		s.addIndexCost(a)
	}
}

func (s *consumed) addIndexCost(a indexCost) {
	for i := range s.indexes {
		if s.indexes[i].index == a.index {
			s.indexes[i].units += a.units
			return
		}
	}
	s.indexes = append(s.indexes, a)
}

// append appends a ConsumedCapacity.
func (s *consumed) append(dst []byte, mode capacityMode) []byte {
	total := s.table + s.failed
	for i := range s.indexes {
		if !s.indexes[i].vector {
			total += s.indexes[i].units
		}
	}
	dst = append(dst, `{"TableName":`...)
	dst = wire.AppendQuoted(dst, []byte(s.named))
	dst = append(dst, ',')
	dst = s.appendUnits(dst, total)
	if mode == capacityIndexes {
		dst = append(dst, `,"Table":{`...)
		dst = s.appendUnits(dst, s.table)
		dst = append(dst, '}')
		dst = s.appendIndexCosts(dst, `,"LocalSecondaryIndexes":{`, func(a *indexCost) bool { return a.local && !a.vector })
		dst = s.appendIndexCosts(dst, `,"GlobalSecondaryIndexes":{`, func(a *indexCost) bool { return !a.local && !a.vector })
		dst = s.appendIndexCosts(dst, `,"VectorIndexes":{`, func(a *indexCost) bool { return a.vector })
	}
	return append(dst, '}')
}

func (s *consumed) appendUnits(dst []byte, units float64) []byte {
	dst = append(dst, `"CapacityUnits":`...)
	dst = wire.AppendUnits(dst, units)
	if s.kind != "" {
		dst = append(dst, `,"`...)
		dst = append(dst, s.kind...)
		dst = append(dst, `CapacityUnits":`...)
		dst = wire.AppendUnits(dst, units)
	}
	return dst
}

// appendIndexCosts appends a member with the units of some indexes, and the bytes written to
// vector indexes, if there are any.
func (s *consumed) appendIndexCosts(dst []byte, member string, has func(a *indexCost) bool) []byte {
	start := len(dst)
	for i := range s.indexes {
		a := &s.indexes[i]
		if !has(a) {
			continue
		}
		if len(dst) == start {
			dst = append(dst, member...)
		} else {
			dst = append(dst, ',')
		}
		dst = wire.AppendQuoted(dst, []byte(a.index))
		dst = append(dst, `:{`...)
		if a.vector {
			dst = wire.AppendUnits(append(dst, `"VectorWriteRequestBytes":`...), a.units)
		} else {
			dst = s.appendUnits(dst, a.units)
		}
		dst = append(dst, '}')
	}
	if len(dst) > start {
		dst = append(dst, '}')
	}
	return dst
}

func appendAllConsumed(dst []byte, mode capacityMode, all []*consumed) []byte {
	dst = append(dst, '[')
	for i, s := range all {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = s.append(dst, mode)
	}
	return append(dst, ']')
}
