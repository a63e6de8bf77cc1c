package accel

import (
	"maps"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/cespare/xxhash/v2"

	"github.com/kasoku/kasoku/internal/dynamo/wire"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// Limits of the shapes of a service. Queries of further ones share otherShape.
const (
	maxShapes    = 300
	maxShapeText = 240 // bytes
)

// shapes are the shapes of queries by a hash of everything in them except values and positions.
type shapes struct {
	byHash atomic.Pointer[map[uint64]*telemetry.Shape] // replaced as a whole
	mu     sync.Mutex                                  // held while byHash is replaced
}

// otherShape is the shape of the queries beyond the limit.
var otherShape = &telemetry.Shape{Text: "other"}

// shapeMembers make up the shape of a query.
var shapeMembers = [...]int{qNames, qIndex, qKeyCondition, qFilter, qProjection, qSelect, qForward}

// shape returns the shape of the query whose members are in c.m, nil if queries aren't accounted
// for by their shapes.
func (c *call) shape() *telemetry.Shape {
	if c.svc.ledger == nil {
		return nil
	}
	var d xxhash.Digest
	d.Reset()
	_, _ = d.WriteString(c.op.Name)
	for _, i := range shapeMembers {
		_, _ = d.Write(c.m[i])
		_, _ = d.Write([]byte{0})
	}
	all := &c.svc.shapes
	hash := d.Sum64()
	if known := all.byHash.Load(); known != nil {
		if s := (*known)[hash]; s != nil {
			return s
		}
	}
	return all.add(hash, c)
}

// add returns the shape of the query in c, which it makes if there is room.
func (s *shapes) add(hash uint64, c *call) *telemetry.Shape {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := map[uint64]*telemetry.Shape{}
	if known := s.byHash.Load(); known != nil {
		if found := (*known)[hash]; found != nil {
			return found
		}
		if len(*known) >= maxShapes {
			return otherShape
		}
		next = maps.Clone(*known)
	}
	index, _ := wire.AppendExact(nil, c.m[qIndex])
	next[hash] = &telemetry.Shape{Index: string(index), Text: c.shapeText(), Hash: hash}
	s.byHash.Store(&next)
	return next[hash]
}

// shapeText returns the expressions of a query with the names of attributes in the place of
// placeholders for them.
func (c *call) shapeText() string {
	var parts []string
	add := func(label string, member int) {
		if text, ok := wire.AppendExact(nil, c.m[member]); ok && len(text) > 0 {
			parts = append(parts, label+withNames(string(text), c.m[qNames]))
		}
	}
	add("", qKeyCondition)
	for _, legacy := range []int{qKeyConditions, qQueryFilter, qScanFilter} {
		it := wire.Object(c.m[legacy])
		for c.m[legacy] != nil && it.Next() {
			parts = append(parts, queryMembers[legacy]+" "+string(it.Name()))
		}
	}
	add("filter ", qFilter)
	add("project ", qProjection)
	add("select ", qSelect)
	if string(c.m[qForward]) == "false" {
		parts = append(parts, "descending")
	}
	text := strings.Join(parts, "; ")
	if text == "" {
		return "all"
	}
	return text[:min(len(text), maxShapeText)]
}

// withNames replaces the placeholders for names in an expression.
func withNames(text string, names []byte) string {
	if names == nil {
		return text
	}
	byPlaceholder := map[string]string{}
	it := wire.Object(names)
	for it.Next() {
		if name, ok := wire.AppendExact(nil, it.Value()); ok {
			byPlaceholder[string(it.Name())] = string(name)
		}
	}
	var b strings.Builder
	for i := 0; i < len(text); {
		end := i + 1
		if text[i] == '#' {
			for end < len(text) && isNameByte(text[end]) {
				end++
			}
		}
		word := text[i:end]
		if name, ok := byPlaceholder[word]; ok {
			word = name
		}
		b.WriteString(word)
		i = end
	}
	return b.String()
}

// isNameByte reports whether a placeholder may have the byte behind its first one.
func isNameByte(b byte) bool {
	return b == '_' || b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z'
}
