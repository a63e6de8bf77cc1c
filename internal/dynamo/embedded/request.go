package embedded

import (
	"github.com/kasoku/kasoku/internal/dynamo/expr"
	"github.com/kasoku/kasoku/internal/dynamo/value"
)

// The types in this file are requests that have passed all checks which need no table. Each
// has a function parse<Operation>(body), which requires a body that shape.Check has accepted
// for the operation and returns a *wire.Error. A request may alias its body.

// capacityMode is ReturnConsumedCapacity.
type capacityMode uint8

const (
	capacityNone    capacityMode = iota
	capacityTotal                // a number for each table
	capacityIndexes              // and one for each index
)

// returnMode is ReturnValues.
type returnMode uint8

const (
	returnNone returnMode = iota
	returnAllOld
	returnUpdatedOld
	returnAllNew
	returnUpdatedNew
)

// getRequest is a GetItem or one Get of TransactGetItems.
type getRequest struct {
	Table      string      // the name, also if the request has an ARN
	Named      string      // the table as the request names it
	Key        value.Value // a Map, not yet checked against the table's schema
	Consistent bool
	Projection []expr.Path // nil for whole items
	Capacity   capacityMode
}

// writeKind is the kind of a writeRequest.
type writeKind uint8

const (
	writePut writeKind = iota + 1
	writeUpdate
	writeDelete
	writeCheck // a transaction's ConditionCheck: writes nothing
)

// writeRequest is a PutItem, UpdateItem or DeleteItem, or one element of a batch or a
// transaction. Only single requests have Return, Capacity and Metrics.
type writeRequest struct {
	Kind      writeKind
	Table     string
	Named     string
	Item      value.Value     // a Map: the item of a put, the key of the others
	Update    *expr.Update    // for an update; nil if it has no actions
	Condition *expr.Condition // nil for none
	// ReturnItemOnFailure includes the item in the error if the condition fails.
	ReturnItemOnFailure bool
	Return              returnMode
	Capacity            capacityMode
	Metrics             bool // ReturnItemCollectionMetrics is SIZE
	// Statement reports whether this is a PartiQL statement, for which some rules differ.
	Statement bool
}

// selectMode is Select.
type selectMode uint8

const (
	selectDefault selectMode = iota // not in the request
	selectAllAttributes
	selectProjected // ALL_PROJECTED_ATTRIBUTES
	selectSpecific
	selectCount
)

// queryRequest is a Query or a Scan.
type queryRequest struct {
	Scan  bool
	Table string
	Named string
	Index string // empty for the table

	// Keys holds the key conditions of a Query, from an expression or from the legacy
	// member, not yet checked against the schema. nil in a Scan.
	Keys *expr.KeyQuery

	Filter *expr.Condition // nil for none

	Projection []expr.Path // nil for none
	Select     selectMode
	Limit      int // 0 for none
	Consistent bool
	Backward   bool         // ScanIndexForward is false
	Start      *value.Value // ExclusiveStartKey, a Map; nil for none

	Segment, Segments int // Segments is 0 in a scan of the whole table

	Capacity capacityMode
}

// batchGetRequest is a BatchGetItem.
type batchGetRequest struct {
	Tables   []batchGetTable // in the order of the request
	Capacity capacityMode
}

// batchGetTable is the part of a BatchGetItem for one table.
type batchGetTable struct {
	Table      string
	Named      string
	Keys       []value.Value
	KeyTexts   [][]byte // the keys as the request has them, for UnprocessedKeys
	Left       [][]byte // further keys, which are left unprocessed
	Consistent bool
	Projection []expr.Path
	// Rest is the text of the other members with their commas in front, for
	// UnprocessedKeys: `,"ConsistentRead":true`.
	Rest []byte
}

// batchWriteRequest is a BatchWriteItem.
type batchWriteRequest struct {
	Tables   []batchWriteTable // in the order of the request
	Capacity capacityMode
	Metrics  bool
}

// batchWriteTable is the part of a BatchWriteItem for one table: puts and deletes.
type batchWriteTable struct {
	Table  string
	Named  string
	Writes []writeRequest
	Texts  [][]byte // the WriteRequests as the request has them
}

// transactWriteRequest is a TransactWriteItems.
type transactWriteRequest struct {
	Writes   []writeRequest
	Token    string // empty for none
	Capacity capacityMode
	Metrics  bool
}

// statementRequest is one PartiQL statement with its parameters and options.
type statementRequest struct {
	Text                []byte // unescaped
	Parameters          []value.Value
	Fault               error // of a parameter of one statement of a batch
	Consistent          bool
	ReturnItemOnFailure bool
}

// executeRequest is an ExecuteStatement.
type executeRequest struct {
	statementRequest
	Limit     int    // 0 for none
	NextToken string // empty for none
	Capacity  capacityMode
}

// executeManyRequest is a BatchExecuteStatement or an ExecuteTransaction.
type executeManyRequest struct {
	Statements []statementRequest
	Token      string // for a transaction; empty for none
	Capacity   capacityMode
}

// transactGetRequest is a TransactGetItems.
type transactGetRequest struct {
	Gets     []getRequest
	Capacity capacityMode
}
