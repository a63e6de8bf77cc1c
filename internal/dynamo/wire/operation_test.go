package wire

import (
	"slices"
	"strings"
	"testing"
)

func TestOperationTables(t *testing.T) {
	for _, ops := range [][]Operation{Operations, StreamOperations} {
		if !slices.IsSortedFunc(ops, func(a, b Operation) int { return strings.Compare(a.Name, b.Name) }) {
			t.Error("operations are not in the order of their names")
		}
		for _, op := range ops {
			reads := strings.HasPrefix(op.Name, "Get") || strings.HasPrefix(op.Name, "Describe") || strings.HasPrefix(op.Name, "List") ||
				slices.Contains([]string{"BatchGetItem", "Query", "Scan", "SearchVectors", "TransactGetItems"}, op.Name)
			if reads != (op.Access == Read) {
				t.Errorf("%s has access %d", op.Name, op.Access)
			}
			if op.Kind == OtherRead && op.Access != Read || op.Kind == OtherWrite && op.Access != Write || op.Kind == OtherAdmin && op.Access != Admin {
				t.Errorf("%s: kind %d, access %d", op.Name, op.Kind, op.Access)
			}
		}
	}
}

// TestOwnKinds checks that a kind of its own belongs to one operation, the one of that name.
func TestOwnKinds(t *testing.T) {
	seen := map[OpKind]string{}
	for _, op := range Operations {
		if op.Kind > OtherAdmin {
			if seen[op.Kind] != "" {
				t.Errorf("%s and %s share a kind", op.Name, seen[op.Kind])
			}
			seen[op.Kind] = op.Name
		}
	}
	for kind := GetItem; kind <= UpdateTimeToLive; kind++ {
		if seen[kind] == "" {
			t.Errorf("no operation has kind %d", kind)
		}
	}
}

func TestFindOperation(t *testing.T) {
	f := func(target, name string, access Access, tables Place, known bool) {
		t.Helper()
		op, ok := FindOperation([]byte(target))
		if op.Name != name || op.Access != access || op.Tables != tables || ok != known {
			t.Errorf("FindOperation(%s) = %+v, %v", target, *op, ok)
		}
	}
	f("DynamoDB_20120810.GetItem", "GetItem", Read, InTableName, true)
	f("DynamoDB_20120810.BatchWriteItem", "BatchWriteItem", Write, InRequestItems, true)
	f("DynamoDB_20120810.TransactGetItems", "TransactGetItems", Read, InTransactItems, true)
	f("DynamoDB_20120810.ExecuteStatement", "ExecuteStatement", Write, InStatement, true)
	f("DynamoDB_20120810.ListTables", "ListTables", Read, Account, true)
	f("DynamoDB_20120810.DeleteTable", "DeleteTable", Admin, InTableName, true)
	f("DynamoDBStreams_20120810.GetShardIterator", "GetShardIterator", Read, InStreamArn, true)
	f("DynamoDBStreams_20120810.GetItem", "", Write, Elsewhere, true)
	f("DynamoDB_20120810.GetRecords", "", Write, Elsewhere, true)
	f("DynamoDB_20120810.getItem", "", Write, Elsewhere, true)
	f("DynamoDB_20120810.", "", Write, Elsewhere, true)
	f("DynamoDB_20111205.GetItem", "", Write, Elsewhere, false)
	f("GetItem", "", Write, Elsewhere, false)
	f("", "", Write, Elsewhere, false)
}
