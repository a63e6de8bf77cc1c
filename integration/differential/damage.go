package differential

import (
	"fmt"
	"strings"
)

// damage changes a request in one place, so that it is likely to be refused.
func (g *generator) damage(r request) request {
	body := clone(r.body)
	var spots []func(any) // each replaces the value in one place
	var values []any
	walk(body, func(v any, put func(any)) {
		spots = append(spots, put)
		values = append(values, v)
	})
	if len(spots) == 0 {
		return r
	}
	i := g.IntN(len(spots))
	other := g.damaged(values[i])
	spots[i](other)
	_, shaped := other.(object) // unlike the replaced value
	return request{operation: r.operation, body: body, index: r.index, damaged: true, mistyped: r.mistyped || shaped || fmt.Sprintf("%T", other) != fmt.Sprintf("%T", values[i])}
}

// removed marks a member for removal.
type removed struct{}

// walk calls show with each value in v and a function that replaces it; members are visited
// in the order of their names.
func walk(v any, show func(v any, put func(any))) {
	switch v := v.(type) {
	case object:
		for _, name := range sorted(v) {
			if name == "ClientRequestToken" {
				continue // the name of another run is not allowed
			}
			show(v[name], func(other any) {
				if _, remove := other.(removed); remove {
					delete(v, name)
				} else {
					v[name] = other
				}
			})
			walk(v[name], show)
		}
	case list:
		for i := range v {
			show(v[i], func(other any) {
				if _, remove := other.(removed); remove {
					other = object{}
				}
				v[i] = other
			})
			walk(v[i], show)
		}
	}
}

// damaged draws a value other than v.
func (g *generator) damaged(v any) any {
	if s, ok := v.(string); ok && !g.oneIn(3) {
		return g.damagedText(s)
	}
	if l, ok := v.(list); ok && len(l) > 0 && g.oneIn(2) {
		return append(l[:len(l):len(l)], l[0])
	}
	switch g.IntN(8) {
	case 0:
		return ""
	case 1:
		return object{}
	case 2:
		return list{}
	case 3:
		return g.pick(-1, 0, 1, 1000)
	case 4:
		return g.oneIn(2)
	case 5:
		return object{"S": "x"}
	}
	return removed{}
}

// damagedText removes, doubles or swaps words of an expression, or changes a
// short text.
func (g *generator) damagedText(s string) string {
	words := strings.Fields(s)
	if len(words) < 2 {
		return g.one("", s+"x", "x", "NONE", strings.Repeat("long", 70), "no-such", strings.ToLower(s), s+" "+s)
	}
	i := g.IntN(len(words))
	switch g.IntN(5) {
	case 0:
		words = append(words[:i:i], words[i+1:]...)
	case 1:
		words = append(words[:i+1:i+1], words[i:]...)
	case 2:
		words[i], words[0] = words[0], words[i]
	case 3:
		words[i] = g.one("AND", "(", ")", "SET", "x", ":none", "#none", "size", "=", "1", ",")
	case 4:
		words[i] += g.one("(", ")", ".", "[0]", "[", "x", ",", "..")
	}
	return strings.Join(words, " ")
}
