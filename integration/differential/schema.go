package differential

import "fmt"

// key is a key attribute of a table or an index.
type key struct{ name, typ string }

// table is a table that requests are generated for.
type table struct {
	name    string
	hash    key
	sort    *key // nil for a table with a partition key only
	locals  []index
	globals []index
	stream  string // view type, "" for none
}

// index is a secondary index. A local one has the table's partition key.
type index struct {
	name       string
	hash       key
	sort       *key
	projection string // ALL, KEYS_ONLY or INCLUDE
	include    list
}

// schema draws a table. Names of key attributes determine their types, so that an attribute
// has the same type in all keys.
func (g *generator) schema(name string) *table {
	t := &table{name: name, hash: g.keyOf("p")}
	if g.IntN(4) > 0 {
		k := g.keyOf("s")
		t.sort = &k
		for i := range g.IntN(3) {
			k := g.keyOf(g.one("ki", "kj"))
			t.locals = append(t.locals, g.index(fmt.Sprintf("local-%d", i), t.hash, &k))
		}
	}
	for i := range g.IntN(3) {
		sort := (*key)(nil)
		if g.IntN(3) > 0 {
			k := g.keyOf(g.one("s", "ki", "kj"))
			sort = &k
		}
		hash := g.keyOf(g.one("p", "ki", "g"))
		if sort != nil && sort.name == hash.name {
			sort = nil
		}
		t.globals = append(t.globals, g.index(fmt.Sprintf("global-%d", i), hash, sort))
	}
	if g.IntN(3) == 0 {
		t.stream = g.one("KEYS_ONLY", "NEW_IMAGE", "OLD_IMAGE", "NEW_AND_OLD_IMAGES")
	}
	return t
}

func (g *generator) keyOf(name string) key {
	typ := g.one("S", "S", "N", "N", "B")
	return key{name + typ, typ}
}

func (g *generator) index(name string, hash key, sort *key) index {
	x := index{name: name, hash: hash, sort: sort, projection: g.one("ALL", "ALL", "KEYS_ONLY", "INCLUDE")}
	if x.projection == "INCLUDE" {
		x.include = list{"a", "n"}
	}
	return x
}

// indexes returns all indexes of the table.
func (t *table) indexes() []index {
	return append(t.locals[:len(t.locals):len(t.locals)], t.globals...)
}

// keys returns the table's own key attributes.
func (t *table) keys() []key {
	if t.sort == nil {
		return []key{t.hash}
	}
	return []key{t.hash, *t.sort}
}

func (x *index) keys() []key {
	if x.sort == nil {
		return []key{x.hash}
	}
	return []key{x.hash, *x.sort}
}

// create returns the request that creates the table.
func (t *table) create() request {
	defined := object{}
	body := object{"TableName": t.name, "BillingMode": "PAY_PER_REQUEST", "KeySchema": keySchema(t.keys(), defined)}
	if len(t.locals) > 0 {
		body["LocalSecondaryIndexes"] = describe(t.locals, defined)
	}
	if len(t.globals) > 0 {
		body["GlobalSecondaryIndexes"] = describe(t.globals, defined)
	}
	if t.stream != "" {
		body["StreamSpecification"] = object{"StreamEnabled": true, "StreamViewType": t.stream}
	}
	definitions := list{}
	for _, name := range sorted(defined) {
		definitions = append(definitions, object{"AttributeName": name, "AttributeType": defined[name]})
	}
	body["AttributeDefinitions"] = definitions
	return request{operation: "CreateTable", body: body}
}

func keySchema(keys []key, defined object) list {
	schema := list{}
	for i, k := range keys {
		defined[k.name] = k.typ
		schema = append(schema, object{"AttributeName": k.name, "KeyType": []string{"HASH", "RANGE"}[i]})
	}
	return schema
}

func describe(indexes []index, defined object) list {
	all := list{}
	for _, x := range indexes {
		projection := object{"ProjectionType": x.projection}
		if x.projection == "INCLUDE" {
			projection["NonKeyAttributes"] = x.include
		}
		all = append(all, object{"IndexName": x.name, "KeySchema": keySchema(x.keys(), defined), "Projection": projection})
	}
	return all
}
