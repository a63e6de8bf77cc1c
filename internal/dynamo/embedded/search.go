package embedded

import (
	"bytes"
	"slices"
	"strconv"

	"github.com/kasoku/kasoku/internal/dynamo/embedded/catalog"
	"github.com/kasoku/kasoku/internal/dynamo/embedded/kv"
	"github.com/kasoku/kasoku/internal/dynamo/expr"
	"github.com/kasoku/kasoku/internal/dynamo/value"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// Bounds of a search. The answer must not be larger than the service's.
const (
	maxTopK         = 100
	maxSearchAnswer = 16 << 20
)

type searchRequest struct {
	Table, Index string
	Vector       []byte // a list of attribute values
	TopK         int
	Equal        []searchTerm
	Projection   []expr.Path // nil for none
	Capacity     capacityMode
}

// searchTerm is a condition of a search: an attribute must equal a value.
type searchTerm struct {
	path  expr.Path
	value *value.Value
}

var searchFields = fieldsOf(fieldTable, fieldIndex, fieldSearchVector, fieldTopK, fieldSearchCondition, fieldProjection, fieldNames, fieldValues, fieldCapacity)

// parseSearch reads a SearchVectors.
func parseSearch(body []byte) (r searchRequest, err error) {
	var f fields
	readFields(&f, body, searchFields)
	r.Table, _ = f.table()
	r.Index, r.Vector, r.TopK, r.Capacity = string(f.text(fieldIndex)), f.values[fieldSearchVector], f.number(fieldTopK), f.capacity()
	if r.TopK > maxTopK {
		return r, wire.Invalid("Provided TopK value '%d' is out of valid range. The value must be between 1 and %d inclusive", r.TopK, maxTopK)
	}
	if err := f.checkStyle(); err != nil {
		return r, err
	}
	x, err := f.parse()
	if err != nil {
		return r, err
	}
	r.Projection = x.projection
	if x.search != nil {
		r.Equal, err = searchTerms(nil, x.search.Root)
	}
	return r, err
}

// searchTerms reads a condition that compares attributes with values by = only, joined by
// AND.
func searchTerms(all []searchTerm, n *expr.Node) (out []searchTerm, err error) {
	switch {
	case n.Kind == expr.And:
		for _, sub := range n.Nodes {
			if all, err = searchTerms(all, sub); err != nil {
				return nil, err
			}
		}
		return all, nil
	case n.Kind == expr.Compare && n.Op == expr.Equal:
		left, right := n.Args[0], n.Args[1]
		if left.Kind == expr.ValueOperand {
			left, right = right, left
		}
		if left.Kind == expr.PathOperand && right.Kind == expr.ValueOperand {
			return append(all, searchTerm{left.Path, right.Value}), nil
		}
	}
	return nil, wire.Invalid("Invalid SearchConditionExpression: Invalid comparator used in SearchConditionExpression")
}

// search executes a SearchVectors of a table.
type search struct {
	req   *searchRequest
	x     *catalog.Index
	query []float32
	hash  *value.Value // the partition to search; nil for the whole index
	rest  []searchTerm // the other conditions
	found []match      // the best so far, in order
}

// match is a matching entry.
type match struct {
	score float64
	text  []byte
	size  int
}

// searchVectors answers SearchVectors by comparing the vector with all entries of the index.
func (c *call) searchVectors() error {
	req, err := parseSearch(c.body)
	if err != nil {
		return err
	}
	s := search{req: &req}
	it, err := s.begin(c)
	if err != nil {
		return err
	}
	defer it.Close()
	for ok := it.First(); ok; ok = it.Next() {
		if c.s.background.Err() != nil {
			return internalError() // the store is being closed, and does not wait for a long search
		}
		if err := s.consider(c, it.Value()); err != nil {
			return err
		}
	}
	if err := it.Error(); err != nil {
		return err
	}
	return s.answer(c)
}

// begin checks the request against the schema and returns an iterator over a snapshot of the
// entries. It does not keep the table held: a search may take long.
func (s *search) begin(c *call) (kv.Iter, error) {
	t, err := c.s.table(s.req.Table)
	if err != nil {
		return nil, err
	}
	defer t.mu.RUnlock()
	s.x = t.info.VectorIndex(s.req.Index)
	switch {
	case s.x == nil:
		return nil, wire.Invalid("The table does not have the specified index: %s", s.req.Index)
	case s.x.Backfilling:
		return nil, wire.Invalid("Cannot search backfilling vector index: %s", s.x.Name)
	}
	if err := s.readVector(); err != nil {
		return nil, err
	}
	if err := s.checkConditions(); err != nil {
		return nil, err
	}
	lower := appendIndex(nil, t.id, s.x.ID)
	if s.hash != nil {
		lower = appendPartition(nil, t.id, s.x.ID, s.hash)
	}
	return c.s.db.Iter(lower, prefixEnd(nil, lower))
}

// readVector reads the query vector.
func (s *search) readVector() error {
	for it := wire.Array(s.req.Vector); it.Next(); {
		v, err := value.Parse(it.Value())
		f, ok := float(&v)
		if err != nil || v.Type != value.Number || !ok {
			return wire.Invalid("Search vector contains invalid values. All values in the search vector must be a 32-bit floating-point number attribute")
		}
		s.query = append(s.query, f)
	}
	if len(s.query) != s.x.Vector.Dimensions {
		return wire.Invalid("Input search vector dimension %d does not match vector index dimension %d", len(s.query), s.x.Vector.Dimensions)
	}
	return nil
}

// checkConditions checks the conditions against the search schema, and extracts the one that
// fixes the partition.
func (s *search) checkConditions() error {
	for _, e := range s.req.Equal {
		if _, ok := s.x.Vector.Find(e.path[0].Name); !ok {
			return wire.Invalid("SearchConditionExpression must not contain any attributes that is not in SearchSchema. Invalid attribute: %s", e.path[0].Name)
		}
	}
	for _, e := range s.req.Equal {
		a, _ := s.x.Vector.Find(e.path[0].Name)
		switch isHash := s.x.Key.Has(a.Name) && len(e.path) == 1; {
		case e.value.Type != a.Type:
			return wire.Invalid("Type of '%s' attribute in SearchConditionExpression (%s) does not match type in search schema (%s)", a.Name, e.value.Type, a.Type)
		case isHash && isEmpty(e.value):
			return emptyKeyError{wire.Invalid("%s%s Key: %s", emptyKeyPrefix, emptyValueName(e.value), a.Name)}
		case isHash && s.hash == nil:
			s.hash = e.value
		default:
			s.rest = append(s.rest, e)
		}
	}
	if s.hash == nil && len(s.x.Key.Hash) > 0 {
		return wire.Invalid("SearchConditionExpression must be provided when SearchSchema has a HASH key")
	}
	return nil
}

// consider compares an entry, and keeps it if it is one of the best so far. Of equal ones
// the first is better.
func (s *search) consider(c *call, stored []byte) error {
	size, text, err := splitImage(stored)
	if err != nil {
		return err
	}
	if len(s.rest) > 0 {
		item, err := value.Stored(bytes.Clone(text))
		if err != nil {
			return damaged(stored)
		}
		for _, e := range s.rest {
			if v := e.path.In(&item); v == nil || !v.Equal(e.value) {
				return nil
			}
		}
	}
	attribute, _ := wire.Lookup(text, s.x.Vector.Attribute)
	_, quoted, ok := wire.Attribute(attribute)
	if ok {
		c.scratch, ok = wire.AppendBinary(c.scratch[:0], quoted)
	}
	if !ok || len(c.scratch) != 4*len(s.query) {
		return damaged(stored)
	}
	m := match{score: score(s.x.Vector.Distance, s.query, c.scratch), size: size - len(c.scratch)}
	at, _ := slices.BinarySearchFunc(s.found, m, func(old, m match) int {
		if s.better(m, old) {
			return 1
		}
		return -1
	})
	if at == s.req.TopK {
		return nil
	}
	m.text = bytes.Clone(text)
	if s.found = slices.Insert(s.found, at, m); len(s.found) > s.req.TopK {
		s.found = s.found[:s.req.TopK]
	}
	return nil
}

func (s *search) better(a, b match) bool {
	if s.x.Vector.Distance == catalog.DotProduct {
		return a.score > b.score
	}
	return a.score < b.score
}

// answer appends the reply.
func (s *search) answer(c *call) error {
	read := 17.6 * float64(len(s.query)) // as measured at the service
	c.out = append(c.out, `{"SearchResults":[`...)
	for i, m := range s.found {
		read += float64(m.size)
		if i > 0 {
			c.out = append(c.out, ',')
		}
		item, err := s.result(m.text)
		if err != nil {
			return err
		}
		c.out = append(c.out, `{"Item":`...)
		c.out = item.AppendItem(c.out)
		c.out = append(c.out, `,"Score":`...)
		c.out = append(strconv.AppendFloat(c.out, m.score, 'g', -1, 64), '}')
		if len(c.out) > maxSearchAnswer {
			return wire.Invalid("The size of the search results exceeds the limit of 16 MB. Use a narrower projection or a smaller TopK")
		}
	}
	c.out = append(c.out, ']')
	if s.req.Capacity != capacityNone {
		c.out = append(c.out, `,"ConsumedCapacity":{"VectorSearchRequestBytes":`...)
		c.out = append(wire.AppendUnits(c.out, max(minVectorBytes, read)), '}')
	}
	c.out = append(c.out, '}')
	return nil
}

// result returns the requested part of an entry. It includes the vector only if the request
// names it and the index projects it.
func (s *search) result(text []byte) (*value.Value, error) {
	item, err := value.Stored(text)
	if err != nil {
		return nil, damaged(text)
	}
	at := slices.IndexFunc(item.Members, func(m value.Member) bool { return m.Name == s.x.Vector.Attribute })
	projected := s.x.Projection.Type == catalog.ProjectAll || slices.Contains(s.x.Projection.NonKey, s.x.Vector.Attribute)
	if s.req.Projection == nil || !projected {
		item.Members = slices.Delete(item.Members, at, at+1)
	} else {
		item.Members[at].Value = vectorList(item.Members[at].Value.Text)
	}
	if s.req.Projection == nil {
		return &item, nil
	}
	out, ok := expr.NewSelection(s.req.Projection).Append(nil, item.AppendItem(nil))
	if !ok {
		return nil, damaged(text)
	}
	item, err = value.Stored(out)
	return &item, err
}
