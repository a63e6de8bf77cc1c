package plain

import (
	"strconv"

	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// capacityTotals sums ConsumedCapacity by table.
type capacityTotals struct {
	tables []string // in order of first use
	units  map[string]*capacityUnits
}

// capacityUnits holds the numbers and the nested objects of an object by name: of a table,
// of one of its indexes, or of a map of indexes.
type capacityUnits struct {
	names   []string
	numbers map[string]float64
	inner   map[string]*capacityUnits
}

// add adds the capacity that a request consumed in one table.
func (t *capacityTotals) add(obj []byte) {
	quoted, _ := wire.Lookup(obj, "TableName")
	name, _ := wire.AppendString(nil, quoted)
	if t.units == nil {
		t.units = make(map[string]*capacityUnits)
	}
	u := t.units[string(name)]
	if u == nil {
		u = &capacityUnits{}
		t.tables = append(t.tables, string(name))
		t.units[string(name)] = u
	}
	u.add(obj)
}

func (u *capacityUnits) add(obj []byte) {
	for it := wire.Object(obj); it.Next(); {
		raw, _ := wire.AppendString(nil, it.QuotedName())
		name, v := string(raw), it.Value()
		switch wire.Kind(v) {
		case '0':
			n, err := strconv.ParseFloat(string(v), 64)
			if err != nil {
				continue
			}
			if u.numbers == nil {
				u.numbers = make(map[string]float64)
			}
			if _, seen := u.numbers[name]; !seen {
				u.names = append(u.names, name)
			}
			u.numbers[name] += n
		case '{':
			if u.inner == nil {
				u.inner = make(map[string]*capacityUnits)
			}
			if u.inner[name] == nil {
				u.inner[name] = &capacityUnits{}
				u.names = append(u.names, name)
			}
			u.inner[name].add(v)
		}
	}
}

// append appends the list for a reply.
func (t *capacityTotals) append(dst []byte) []byte {
	dst = append(dst, '[')
	for _, name := range t.tables {
		dst = wire.AppendQuoted(append(appendComma(dst), `{"TableName":`...), []byte(name))
		if u := t.units[name]; len(u.names) > 0 {
			dst = u.appendMembers(append(dst, ','))
		}
		dst = append(dst, '}')
	}
	return append(dst, ']')
}

func (u *capacityUnits) appendMembers(dst []byte) []byte {
	for i, name := range u.names {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(wire.AppendQuoted(dst, []byte(name)), ':')
		if inner := u.inner[name]; inner != nil {
			dst = append(inner.appendMembers(append(dst, '{')), '}')
		} else {
			dst = wire.AppendUnits(dst, u.numbers[name])
		}
	}
	return dst
}
