package accel

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"maps"
	"slices"
	"strconv"

	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// comparedAnswer is an answer in a form that is the same for all answers with the same meaning.
type comparedAnswer struct {
	item []byte // nil if it is missing, and for a query
	body []byte // of a query or a scan
	form []byte
	ok   bool // the answer has such a form
}

// newComparedAnswer returns the answer to a GetItem, or to a Query or Scan.
func newComparedAnswer(isItem bool, answer []byte) (c comparedAnswer) {
	if !isItem {
		c.body = answer
		c.form, c.ok = pageForm(answer)
		return c
	}
	if c.item, c.ok = memberOf(answer, "Item"); c.ok && c.item != nil {
		c.form, c.ok = wire.AppendCanonicalItem(nil, c.item)
	}
	return c
}

// pageForm returns the form of an answer to a Query or a Scan. Its items are in the order of their
// forms: items with the same sort key in an index, and the items of a scan, have no specified order.
func pageForm(answer []byte) (form []byte, ok bool) {
	for _, name := range []string{"Count", "ScannedCount", "LastEvaluatedKey"} {
		value, ok := memberOf(answer, name)
		if !ok {
			return nil, false
		}
		if value != nil {
			if form, ok = wire.AppendCanonicalItem(form, value); !ok {
				return nil, false
			}
		}
		form = append(form, '\n')
	}
	items, ok := memberOf(answer, "Items")
	if !ok || items == nil { // a query may request only the number of items
		return form, ok
	}
	var forms [][]byte
	it := wire.Array(items)
	for it.Next() {
		one, ok := wire.AppendCanonicalItem(nil, it.Value())
		if !ok {
			return nil, false
		}
		forms = append(forms, one)
	}
	slices.SortFunc(forms, bytes.Compare)
	return append(form, bytes.Join(forms, []byte{'\n'})...), !it.Err()
}

// digestSeed makes digests useless outside of this process.
var digestSeed = maphash.MakeSeed()

// digest returns a hash of the answer.
func (c *comparedAnswer) digest() string {
	if c.item == nil && c.body == nil {
		return "absent"
	}
	return fmt.Sprintf("%016x", maphash.Bytes(digestSeed, c.form))
}

// maxDifferences is the number of names that differences returns.
const maxDifferences = 20

// differences returns the names of the attributes, or of the members of a query's answer, that
// differ.
func (c *comparedAnswer) differences(o *comparedAnswer) []string {
	a, b := c.members(), o.members()
	names := []string{}
	for _, name := range slices.Sorted(maps.Keys(a)) {
		if a[name] != b[name] {
			names = append(names, name)
		}
		delete(b, name)
	}
	names = append(names, slices.Sorted(maps.Keys(b))...)
	return names[:min(len(names), maxDifferences)]
}

// members returns the attributes of the item, or the members of the query's answer, in canonical
// form.
func (c *comparedAnswer) members() map[string]string {
	object := c.item
	if c.body != nil {
		object = c.body
	}
	raw := map[string]json.RawMessage{}
	if object == nil || json.Unmarshal(object, &raw) != nil {
		return nil
	}
	forms := make(map[string]string, len(raw))
	for name, value := range raw {
		form, ok := wire.AppendCanonicalItem(nil, value)
		if c.body != nil && name == "Items" {
			form, ok = pageForm(c.body)
		}
		if ok && (c.body == nil || name != "ConsumedCapacity") {
			forms[name] = string(form)
		}
	}
	return forms
}

// consumedUnits returns the capacity that a read has consumed, by its answer.
func consumedUnits(answer []byte) float64 {
	capacity, _ := wire.Lookup(answer, "ConsumedCapacity")
	units, _ := wire.Lookup(capacity, "CapacityUnits")
	if n, err := strconv.ParseFloat(string(units), 64); err == nil {
		return n
	}
	return 2 * readUnits(len(answer)) // by an origin that does not return it
}
