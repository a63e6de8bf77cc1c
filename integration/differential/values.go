package differential

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// generator draws requests. The same seed draws the same requests.
type generator struct {
	*rand.Rand
	tables          []*table
	spare           spare
	token           int    // of transactions
	lastTransaction object // the last transaction with a token
}

func newGenerator(seed uint64) *generator {
	return &generator{Rand: rand.New(rand.NewPCG(seed, 11))}
}

// one draws one of the texts.
func (g *generator) one(texts ...string) string { return texts[g.IntN(len(texts))] }

// oneIn returns true once in n calls on average.
func (g *generator) oneIn(n int) bool { return g.IntN(n) == 0 }

var (
	words   = []string{"", "a", "b", "ab", "abc", "B", "é", "日本", "x y", "\"\\\n", "0", "10", "9", "S"}
	numbers = []string{"0", "1", "2", "3", "-1", "10", "9", "1.5", "1.50", "0.5", "-0", "1e2", "100", "-2.25", "1E-3", "+7", "007",
		"12345678901234567890123456789012345678", "1e125", "-1e125", "1e-130", "99999999999999999999999999999999999999e88"}
	badNumbers = []string{"", "x", "1e126", "1e-131", "123456789012345678901234567890123456789", " 1", "NaN", "1e", "--1"}
	binaries   = []string{"", "AA==", "AQ==", "AAE=", "/w==", "YWI="}
)

// value draws an attribute value of any type; depth bounds nesting.
func (g *generator) value(depth int) object {
	if depth > 0 && g.oneIn(4) {
		return g.document(depth)
	}
	switch g.IntN(14) {
	case 0, 1, 2:
		return object{"S": words[g.IntN(len(words))]}
	case 3, 4, 5, 6:
		return g.number()
	case 7:
		return object{"B": binaries[g.IntN(len(binaries))]}
	case 8:
		return object{"BOOL": g.oneIn(2)}
	case 9:
		return object{"NULL": true}
	}
	return g.set()
}

func (g *generator) number() object {
	if g.oneIn(3) {
		return object{"N": numbers[g.IntN(len(numbers))]}
	}
	return object{"N": fmt.Sprint(g.IntN(12))}
}

// set draws a set without duplicates.
func (g *generator) set() object {
	typ, from := "SS", []string{"a", "b", "c", "ab", "", "é"}
	switch g.IntN(3) {
	case 1:
		typ, from = "NS", []string{"1", "2", "3.0", "-1", "1e1", "0.5"}
	case 2:
		typ, from = "BS", []string{"AA==", "AQ==", "AAE=", ""}
	}
	members := list{}
	for _, i := range g.Perm(len(from))[:1+g.IntN(3)] {
		members = append(members, from[i])
	}
	return object{typ: members}
}

func (g *generator) document(depth int) object {
	if g.oneIn(2) {
		elements := list{}
		for range g.IntN(4) {
			elements = append(elements, g.value(depth-1))
		}
		return object{"L": elements}
	}
	members := object{}
	for range g.IntN(4) {
		members[g.one("x", "y", "z", "a.b", "l")] = g.value(depth - 1)
	}
	return object{"M": members}
}

// badValue draws an attribute value that the service refuses.
func (g *generator) badValue() any {
	switch g.IntN(12) {
	case 0:
		return object{}
	case 1:
		return object{"S": "a", "N": "1"}
	case 2:
		return object{"SS": list{}}
	case 3:
		return object{"NS": list{"1", "1.0"}}
	case 4:
		return object{"SS": list{"a", "a"}}
	case 5:
		return object{"BS": list{"AA==", "AA=="}}
	case 6:
		return object{"NULL": false}
	case 7:
		return object{"L": list{object{}}}
	case 8:
		return object{"M": object{"x": object{"N": "x"}}}
	case 9:
		return nested(32 + g.IntN(3))
	}
	return object{"N": badNumbers[g.IntN(len(badNumbers))]}
}

// nested returns a string in that many levels of lists.
func nested(levels int) object {
	v := object{"S": "x"}
	for range levels {
		v = object{"L": list{v}}
	}
	return v
}

// keyValue draws a value for a key attribute from a small set, so that requests often use
// the same item.
func (g *generator) keyValue(k key) object {
	n := g.IntN(5)
	switch k.typ {
	case "N":
		return object{"N": g.one(fmt.Sprint(n), fmt.Sprint(n), fmt.Sprintf("%d.0", n), fmt.Sprintf("%de0", n), fmt.Sprintf("-%d", n), fmt.Sprintf("%d.5", n), fmt.Sprintf("1e%d", n))}
	case "B":
		return object{"B": []string{"AA==", "AQ==", "AAE=", "/w==", "AAA="}[n]}
	}
	return object{"S": []string{"a", "b", "ab", "é", "a\u0000"}[n]}
}

// wrongKeyValue draws an invalid value for a key attribute.
func (g *generator) wrongKeyValue(k key) any {
	switch g.IntN(8) {
	case 0:
		return object{k.typ: ""}
	case 1:
		return object{"S": strings.Repeat("x", 2049)}
	case 2:
		return object{"BOOL": true}
	case 3:
		return object{"L": list{}}
	case 4:
		return g.badValue()
	}
	return object{map[string]string{"S": "N", "N": "B", "B": "S"}[k.typ]: map[string]string{"S": "1", "N": "AA==", "B": "a"}[k.typ]}
}

// key draws a key of the table, occasionally an invalid one.
func (g *generator) key(t *table) object {
	out := object{}
	for _, k := range t.keys() {
		out[k.name] = g.keyValue(k)
		if g.oneIn(150) {
			out[k.name] = g.wrongKeyValue(k)
		}
	}
	if g.oneIn(150) {
		out["a"] = object{"S": "x"}
	}
	if g.oneIn(150) {
		delete(out, t.hash.name)
	}
	return out
}

// attributes are the names of items' non-key attributes, with their usual contents.
var attributes = []string{"a", "b", "n", "c", "t", "l", "m", "name", "size"}

// typical draws a value for an attribute, usually of the type that fits its name.
func (g *generator) typical(name string) any {
	if g.oneIn(250) {
		return g.badValue()
	}
	if g.oneIn(6) {
		return g.value(2)
	}
	switch name {
	case "n", "c":
		return g.number()
	case "t":
		return g.set()
	case "l":
		elements := list{}
		for range 1 + g.IntN(4) {
			elements = append(elements, g.value(1))
		}
		return object{"L": elements}
	case "m":
		return object{"M": object{"x": g.value(1), "y": g.number(), "l": object{"L": list{g.value(0), g.number()}}}}
	}
	return g.value(1)
}

// item draws an item with a key, often index keys, and other attributes.
func (g *generator) item(t *table) object {
	out := g.key(t)
	for _, x := range t.indexes() {
		for _, k := range x.keys() {
			if _, there := out[k.name]; there || g.oneIn(4) {
				continue
			}
			out[k.name] = g.keyValue(k)
			if g.oneIn(100) {
				out[k.name] = g.wrongKeyValue(k)
			}
		}
	}
	for _, name := range attributes {
		if g.oneIn(2) {
			out[name] = g.typical(name)
		}
	}
	if g.oneIn(200) {
		out["big"] = object{"S": strings.Repeat("x", g.pick(100, 3000, 300_000, 409_000, 409_600))}
	}
	return out
}

func (g *generator) pick(sizes ...int) int { return sizes[g.IntN(len(sizes))] }
