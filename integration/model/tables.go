package model

import (
	"encoding/json"
	"maps"
	"slices"
)

func (db *DB) createTable(r *request) (any, *apiError) {
	if db.tables[r.TableName] != nil {
		return nil, &apiError{Type: namespace + "ResourceInUseException", Message: "Table already exists: " + r.TableName}
	}
	t := &table{
		name:    r.TableName,
		keys:    schemaOf(r.KeySchema),
		indexes: map[string]keySchema{},
		raw:     json.RawMessage(r.body),
		parts:   map[string]*partition{},
		byIndex: map[string]map[string]map[*cell]struct{}{},
	}
	for _, index := range r.GlobalSecondaryIndexes {
		t.indexes[index.IndexName] = schemaOf(index.KeySchema)
	}
	db.tables[r.TableName] = t
	return map[string]any{"TableDescription": t.describe()}, nil
}

func schemaOf(elements []struct{ AttributeName, KeyType string }) (k keySchema) {
	for _, e := range elements {
		if e.KeyType == "HASH" {
			k.partition = e.AttributeName
		} else {
			k.sort = e.AttributeName
		}
	}
	return k
}

// describe returns the description: the parameters of the table's creation, and the state of
// the table and its indexes.
func (t *table) describe() map[string]any {
	var d map[string]any
	if json.Unmarshal(t.raw, &d) != nil {
		return nil
	}
	d["TableStatus"] = "ACTIVE"
	d["TableArn"] = arn + t.name
	d["CreationDateTime"] = 1767225600.0
	indexes, _ := d["GlobalSecondaryIndexes"].([]any)
	for _, index := range indexes {
		i := index.(map[string]any)
		i["IndexStatus"] = "ACTIVE"
		i["IndexArn"] = arn + t.name + "/index/" + i["IndexName"].(string)
	}
	return d
}

const arn = "arn:aws:dynamodb:us-east-1:000000000000:table/"

func (db *DB) deleteTable(r *request) (any, *apiError) {
	t := db.tables[r.TableName]
	if t == nil {
		return nil, noTable()
	}
	delete(db.tables, r.TableName)
	return map[string]any{"TableDescription": t.describe()}, nil
}

func (db *DB) describeTable(r *request) (any, *apiError) {
	t := db.tables[r.TableName]
	if t == nil {
		return nil, noTable()
	}
	return map[string]any{"Table": t.describe()}, nil
}

func (db *DB) listTables(*request) (any, *apiError) {
	return map[string]any{"TableNames": slices.Sorted(maps.Keys(db.tables))}, nil
}
