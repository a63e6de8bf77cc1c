package wire

import "bytes"

// Access is what an operation does to the tables it names.
type Access uint8

const (
	Read  Access = iota + 1 // looks at items, streams or descriptions
	Write                   // changes items
	Admin                   // changes tables and what belongs to them
)

// OpKind groups operations by how the service treats them. Those that it only
// forwards share OtherRead, OtherWrite and OtherAdmin.
type OpKind uint8

const (
	OtherWrite OpKind = iota // unknown operations too
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

// Place says where a request names the tables that it is about.
type Place uint8

const (
	// Elsewhere: nowhere, or in ways that only the origin knows. Who may only
	// use some of the tables may not use such an operation.
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
	Account // the operation is about the account as a whole
)

// Operation is what authorisation and invalidation must know of an operation.
// The statements of PartiQL may read or write, which their text tells; Access
// is then the larger of the two.
type Operation struct {
	Name   string
	Kind   OpKind
	Access Access
	Tables Place
}

// Operations is the API of version 2012-08-10.
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
	{"ListBackups", OtherRead, Read, Elsewhere},   // of a table only if it names one
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

// StreamOperations is the API of DynamoDB Streams.
var StreamOperations = []Operation{
	{"DescribeStream", OtherRead, Read, InStreamArn},
	{"GetRecords", OtherRead, Read, Elsewhere}, // an opaque iterator
	{"GetShardIterator", OtherRead, Read, InStreamArn},
	{"ListStreams", OtherRead, Read, Elsewhere}, // of a table only if it names one
}

// UnknownOperation stands for an operation that is in neither table: it may
// write, and nobody knows where.
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

// FindOperation returns the operation that the value of an X-Amz-Target header
// names, or &UnknownOperation. known reports whether the service and version
// before the dot are those of DynamoDB or of its streams.
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
