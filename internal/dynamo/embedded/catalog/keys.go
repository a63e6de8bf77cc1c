package catalog

import (
	"strings"

	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// maxKeyParts is the maximum number of attributes of either kind in the key of a global
// index.
const maxKeyParts = 4

// element is one element of a KeySchema.
type element struct {
	name string
	hash bool // HASH rather than RANGE
}

func readKeySchema(v []byte) ([]element, error) {
	var out []element
	for _, e := range elements(v) {
		m, err := members(e, "AttributeName", "KeyType")
		if err != nil {
			return nil, err
		}
		out = append(out, element{text(m[0]), text(m[1]) == "HASH"})
	}
	return out, nil
}

// definitions are the AttributeDefinitions of a request.
type definitions []Attribute

// readDefinitions reads AttributeDefinitions.
func readDefinitions(v []byte) (definitions, error) {
	var out definitions
	for _, e := range elements(v) {
		m, err := members(e, "AttributeName", "AttributeType")
		if err != nil {
			return nil, err
		}
		name := text(m[0])
		if _, ok := out.find(name); ok {
			return nil, wire.Invalid("Attribute Name is duplicated: %s", name)
		}
		out = append(out, Attribute{name, keyType(text(m[1]))})
	}
	return out, nil
}

func (d definitions) find(name string) (Attribute, bool) {
	for _, a := range d {
		if a.Name == name {
			return a, true
		}
	}
	return Attribute{}, false
}

// String formats the names as messages do.
func (d definitions) String() string {
	names := make([]string, len(d))
	for i, a := range d {
		names[i] = a.Name
	}
	return list(names)
}

// list formats names as messages do.
func list(names []string) string { return "[" + strings.Join(names, ", ") + "]" }

func names(schema []element) []string {
	out := make([]string, len(schema))
	for i, e := range schema {
		out[i] = e.name
	}
	return out
}

func tableKey(schema []element, defs definitions) (Key, error) {
	if len(schema) > len(defs) {
		return Key{}, wire.Invalid("Invalid KeySchema: Some index key attribute have no definition")
	}
	if err := defs.checkDefined(schema); err != nil {
		return Key{}, err
	}
	if err := checkPair(schema); err != nil {
		return Key{}, err
	}
	return defs.key(schema), nil
}

// localKey returns the key of a local index called name of a table with the partition key
// hash.
func localKey(name string, schema []element, defs definitions, hash string) (Key, error) {
	if err := defs.checkDefined(schema); err != nil {
		return Key{}, err
	}
	if err := checkPair(schema); err != nil {
		return Key{}, err
	}
	if len(schema) < 2 {
		return Key{}, invalid("Index KeySchema does not have a range key for index: %s", name)
	}
	if schema[0].name != hash {
		return Key{}, invalid("Index KeySchema does not have the same leading hash key as table KeySchema for index: %s. "+
			"index hash key: %s, table hash key: %s", name, schema[0].name, hash)
	}
	return defs.key(schema), nil
}

// globalKey returns the key of a global index.
func globalKey(schema []element, defs definitions) (Key, error) {
	if err := defs.checkDefined(schema); err != nil {
		return Key{}, err
	}
	if err := checkParts(schema); err != nil {
		return Key{}, err
	}
	return defs.key(schema), nil
}

// checkDefined checks that all attributes of a key are defined.
func (d definitions) checkDefined(schema []element) error {
	for _, e := range schema {
		if _, ok := d.find(e.name); !ok {
			return invalid("Some index key attributes are not defined in AttributeDefinitions. Keys: %s, AttributeDefinitions: %s",
				list(names(schema)), d)
		}
	}
	return nil
}

// key returns the key for a schema that has been checked.
func (d definitions) key(schema []element) Key {
	var k Key
	for _, e := range schema {
		a, _ := d.find(e.name)
		if e.hash {
			k.Hash = append(k.Hash, a)
		} else {
			k.Range = append(k.Range, a)
		}
	}
	return k
}

// checkPair checks a key of one or two attributes.
func checkPair(schema []element) error {
	switch {
	case len(schema) == 2 && schema[0].name == schema[1].name:
		return wire.Invalid("Both the Hash Key and the Range Key element in the KeySchema have the same name")
	case !schema[0].hash:
		return wire.Invalid("Invalid KeySchema: The first KeySchemaElement is not a HASH key type")
	case len(schema) == 2 && schema[1].hash:
		return wire.Invalid("Invalid KeySchema: The second KeySchemaElement is not a RANGE key type")
	}
	return nil
}

// checkParts checks a key of several attributes of either kind.
func checkParts(schema []element) error {
	if len(schema) == 2 && schema[0].name == schema[1].name || !schema[0].hash {
		return checkPair(schema)
	}
	hashes, seen := 0, map[string]bool{}
	for i, e := range schema {
		if e.hash && i != hashes {
			return invalid("All HASH key attributes must precede RANGE key attributes in the KeySchema")
		}
		if e.hash {
			hashes++
		}
	}
	for _, e := range schema {
		if seen[e.name] {
			return wire.Invalid("The KeySchema contains multiple key attributes with the same name")
		}
		seen[e.name] = true
	}
	switch {
	case hashes > maxKeyParts:
		return invalid("The KeySchema exceeds the maximum allowed number of HASH key attributes")
	case len(schema)-hashes > maxKeyParts:
		return invalid("The KeySchema exceeds the maximum allowed number of RANGE key attributes")
	}
	return nil
}
