package wire

import "bytes"

// Access is the kind of access that an operation needs to its tables.
type Access uint8

const (
	Read  Access = iota + 1 // reads items, streams or descriptions
	Write                   // changes items
	Admin                   // changes tables and their settings
)

// OpKind groups operations by how the service handles them. Operations that are only
// forwarded share OtherRead, OtherWrite and OtherAdmin.
type OpKind uint8

const (
	OtherWrite OpKind = iota // also unknown operations
	OtherRead
	OtherAdmin
	GetItem
	BatchGetItem
	Query
	Scan
	TransactGetItems
	PutItem
	UpdateItem
	DeleteItem
	BatchWriteItem
	TransactWriteItems
	ExecuteStatement
	BatchExecuteStatement
	ExecuteTransaction
	CreateTable
	UpdateTable
	DeleteTable
	DescribeTable
	UpdateTimeToLive
)

// Place is the place in a request where it names its tables.
type Place uint8

const (
	// Elsewhere: nowhere, or in a form that only the origin understands. A client with
	// access to some tables only may not use such an operation.
	Elsewhere Place = iota
	InTableName
	InRequestItems       // member names of RequestItems
	InTransactItems      // TableName in each action of TransactItems
	InStatement          // text of Statement
	InStatements         // Statement in each of Statements
	InTransactStatements // Statement in each of TransactStatements
	InResourceArn
	InTableArn
	InStreamArn
	InTargetTableName
	InGlobalTableName
	Account // concerns the account as a whole
)

// Operation holds the properties of an operation that authorisation and invalidation need. A
// PartiQL statement reads or writes depending on its text; Access is then the larger of the
// two.
type Operation struct {
	Name   string
	Kind   OpKind
	Access Access
	Tables Place
}

// Operations lists the API of version 2012-08-10.
var Operations = []Operation{
	{"BatchExecuteStatement", BatchExecuteStatement, Write, InStatements},
	{"BatchGetItem", BatchGetItem, Read, InRequestItems},
	{"BatchWriteItem", BatchWriteItem, Write, InRequestItems},
	{"CancelBulkOperation", OtherAdmin, Admin, Elsewhere},
	{"CreateBackup", OtherAdmin, Admin, InTableName},
	{"CreateGlobalTable", OtherAdmin, Admin, InGlobalTableName},
	{"CreateTable", CreateTable, Admin, InTableName},
	{"DeleteBackup", OtherAdmin, Admin, Elsewhere},
	{"DeleteItem", DeleteItem, Write, InTableName},
	{"DeleteResourcePolicy", OtherAdmin, Admin, InResourceArn},
	{"DeleteTable", DeleteTable, Admin, InTableName},
	{"DescribeBackup", OtherRead, Read, Elsewhere},
	{"DescribeBulkOperation", OtherRead, Read, Elsewhere},
	{"DescribeContinuousBackups", OtherRead, Read, InTableName},
	{"DescribeContributorInsights", OtherRead, Read, InTableName},
	{"DescribeEndpoints", OtherRead, Read, Account},
	{"DescribeExport", OtherRead, Read, Elsewhere},
	{"DescribeGlobalTable", OtherRead, Read, InGlobalTableName},
	{"DescribeGlobalTableSettings", OtherRead, Read, InGlobalTableName},
	{"DescribeImport", OtherRead, Read, Elsewhere},
	{"DescribeKinesisStreamingDestination", OtherRead, Read, InTableName},
	{"DescribeLimits", OtherRead, Read, Account},
	{"DescribeTable", DescribeTable, Read, InTableName},
	{"DescribeTableReplicaAutoScaling", OtherRead, Read, InTableName},
	{"DescribeTimeToLive", OtherRead, Read, InTableName},
	{"DisableKinesisStreamingDestination", OtherAdmin, Admin, InTableName},
	{"EnableKinesisStreamingDestination", OtherAdmin, Admin, InTableName},
	{"ExecuteStatement", ExecuteStatement, Write, InStatement},
	{"ExecuteTransaction", ExecuteTransaction, Write, InTransactStatements},
	{"ExportTableToPointInTime", OtherAdmin, Admin, InTableArn},
	{"GetItem", GetItem, Read, InTableName},
	{"GetResourcePolicy", OtherRead, Read, InResourceArn},
	{"ImportTable", OtherAdmin, Admin, Elsewhere}, // TableCreationParameters.TableName
	{"ListBackups", OtherRead, Read, Elsewhere},   // names a table optionally
	{"ListBulkOperations", OtherRead, Read, Elsewhere},
	{"ListContributorInsights", OtherRead, Read, Elsewhere},
	{"ListExports", OtherRead, Read, Elsewhere},
	{"ListGlobalTables", OtherRead, Read, Account},
	{"ListImports", OtherRead, Read, Elsewhere},
	{"ListTables", OtherRead, Read, Account},
	{"ListTagsOfResource", OtherRead, Read, InResourceArn},
	{"PutItem", PutItem, Write, InTableName},
	{"PutResourcePolicy", OtherAdmin, Admin, InResourceArn},
	{"Query", Query, Read, InTableName},
	{"RestoreTableFromBackup", OtherAdmin, Admin, InTargetTableName},
	{"RestoreTableToPointInTime", OtherAdmin, Admin, InTargetTableName},
	{"Scan", Scan, Read, InTableName},
	{"SearchVectors", OtherRead, Read, InTableName},
	{"StartBulkPutItems", OtherWrite, Write, InTableName},
	{"TagResource", OtherAdmin, Admin, InResourceArn},
	{"TransactGetItems", TransactGetItems, Read, InTransactItems},
	{"TransactWriteItems", TransactWriteItems, Write, InTransactItems},
	{"UntagResource", OtherAdmin, Admin, InResourceArn},
	{"UpdateContinuousBackups", OtherAdmin, Admin, InTableName},
	{"UpdateContributorInsights", OtherAdmin, Admin, InTableName},
	{"UpdateGlobalTable", OtherAdmin, Admin, InGlobalTableName},
	{"UpdateGlobalTableSettings", OtherAdmin, Admin, InGlobalTableName},
	{"UpdateItem", UpdateItem, Write, InTableName},
	{"UpdateKinesisStreamingDestination", OtherAdmin, Admin, InTableName},
	{"UpdateTable", UpdateTable, Admin, InTableName},
	{"UpdateTableReplicaAutoScaling", OtherAdmin, Admin, InTableName},
	{"UpdateTimeToLive", UpdateTimeToLive, Admin, InTableName},
}

// StreamOperations lists the API of DynamoDB Streams.
var StreamOperations = []Operation{
	{"DescribeStream", OtherRead, Read, InStreamArn},
	{"GetRecords", OtherRead, Read, Elsewhere}, // an opaque iterator
	{"GetShardIterator", OtherRead, Read, InStreamArn},
	{"ListStreams", OtherRead, Read, Elsewhere}, // names a table optionally
}

// UnknownOperation represents an operation that is in neither list: it may write, to any
// table.
var UnknownOperation = Operation{Name: "", Kind: OtherWrite, Access: Write, Tables: Elsewhere}

const (
	tablePrefix  = "DynamoDB_20120810."
	streamPrefix = "DynamoDBStreams_20120810."
)

var (
	tableIndex  = index(Operations)
	streamIndex = index(StreamOperations)
)

func index(ops []Operation) map[string]*Operation {
	m := make(map[string]*Operation, len(ops))
	for i := range ops {
		m[ops[i].Name] = &ops[i]
	}
	return m
}

// FindOperation returns the operation named by an X-Amz-Target header, or &UnknownOperation.
// known reports whether the service and version before the dot are those of DynamoDB or of
// DynamoDB Streams.
func FindOperation(target []byte) (op *Operation, known bool) {
	if name, ok := bytes.CutPrefix(target, []byte(tablePrefix)); ok {
		return find(tableIndex, name), true
	}
	if name, ok := bytes.CutPrefix(target, []byte(streamPrefix)); ok {
		return find(streamIndex, name), true
	}
	return &UnknownOperation, false
}

func find(index map[string]*Operation, name []byte) *Operation {
	if op := index[string(name)]; op != nil {
		return op
	}
	return &UnknownOperation
}
