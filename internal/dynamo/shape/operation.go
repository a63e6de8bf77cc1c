package shape

import (
	"slices"

	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// operation is the shape of a request and the rule for reporting its faults.
type operation struct {
	input *shape
	// explain returns the error for a body that breaks constraints.
	explain func(body []byte, faults []fault) *wire.Error
}

// operations are the operations that a store may support, of both services.
var operations = map[string]*operation{
	"GetItem":            {getItem, allFaults},
	"PutItem":            {putItem, tableNameFirst},
	"UpdateItem":         {updateItem, nameThenReturnValues},
	"DeleteItem":         {deleteItem, tableNameFirst},
	"Query":              {query, allFaults},
	"Scan":               {scan, allFaults},
	"SearchVectors":      {searchVectors, allFaults},
	"BatchGetItem":       {batchGetItem, batch("BatchGetItem")},
	"BatchWriteItem":     {batchWriteItem, batch("BatchWriteItem")},
	"TransactGetItems":   {transactGetItems, allFaults},
	"TransactWriteItems": {transactWriteItems, allFaults},

	"ExecuteStatement":      {executeStatement, allFaults},
	"BatchExecuteStatement": {batchExecuteStatement, allFaults},
	"ExecuteTransaction":    {executeTransaction, allFaults},

	"CreateTable":               {createTable, tableNameRequired},
	"UpdateTable":               {updateTable, tableNameLength},
	"DeleteTable":               {deleteTable, tableNameLength},
	"DescribeTable":             {describeTable, tableNameLength},
	"ListTables":                {listTables, allFaults},
	"UpdateTimeToLive":          {updateTimeToLive, tableNameLength},
	"DescribeTimeToLive":        {describeTimeToLive, tableNameLength},
	"DescribeContinuousBackups": {describeContinuousBackups, tableNameLength},
	"UpdateContinuousBackups":   {updateContinuousBackups, tableNameLength},

	"CreateBackup":                        {createBackup, tableNameLength},
	"DescribeBackup":                      {oneBackup, allFaults},
	"DeleteBackup":                        {deleteBackup, allFaults},
	"ListBackups":                         {listBackups, allFaults},
	"RestoreTableFromBackup":              {restoreFromBackup, nameLength("targetTableName", "TableName")},
	"RestoreTableToPointInTime":           {restoreToPointInTime, allFaults},
	"ExportTableToPointInTime":            {exportTable, allFaults},
	"DescribeExport":                      {describeExport, allFaults},
	"ListExports":                         {listExports, allFaults},
	"ImportTable":                         {importTable, allFaults},
	"DescribeImport":                      {describeImport, allFaults},
	"ListImports":                         {listImports, allFaults},
	"CreateGlobalTable":                   {createGlobalTable, nameLength("globalTableName", "TableName")},
	"UpdateGlobalTable":                   {updateGlobalTable, nameLength("globalTableName", "TableName")},
	"DescribeGlobalTable":                 {oneGlobalTable, nameLength("globalTableName", "TableName")},
	"DescribeGlobalTableSettings":         {oneGlobalTable, nameLength("globalTableName", "TableName")},
	"UpdateGlobalTableSettings":           {oneGlobalTable, nameLength("globalTableName", "TableName")},
	"ListGlobalTables":                    {listGlobalTables, allFaults},
	"DescribeTableReplicaAutoScaling":     {replicaAutoScaling, tableNameLength},
	"UpdateTableReplicaAutoScaling":       {replicaAutoScaling, tableNameLength},
	"GetResourcePolicy":                   {getResourcePolicy, allFaults},
	"PutResourcePolicy":                   {putResourcePolicy, allFaults},
	"DeleteResourcePolicy":                {deleteResourcePolicy, allFaults},
	"DescribeContributorInsights":         {describeContributorInsights, insightsNameLengths},
	"UpdateContributorInsights":           {updateContributorInsights, insightsNameLengths},
	"ListContributorInsights":             {listContributorInsights, allFaults},
	"DescribeKinesisStreamingDestination": {describeDestination, tableNameLength},
	"EnableKinesisStreamingDestination":   {changeDestination, tableNameLength},
	"DisableKinesisStreamingDestination":  {changeDestination, tableNameLength},
	"UpdateKinesisStreamingDestination":   {changeDestination, tableNameLength},

	"TagResource":        {tagResource, allFaults},
	"UntagResource":      {untagResource, allFaults},
	"ListTagsOfResource": {listTagsOfResource, allFaults},
	"DescribeLimits":     {describeLimits, allFaults},
	"DescribeEndpoints":  {describeEndpoints, allFaults},

	"ListStreams":      {listStreams, allFaults},
	"DescribeStream":   {describeStream, allFaults},
	"GetShardIterator": {getShardIterator, allFaults},
	"GetRecords":       {getRecords, allFaults},
}

func allFaults(_ []byte, faults []fault) *wire.Error { return refuse(faults...) }

// find returns the fault of the request's member called label, or nil.
func find(faults []fault, label string) *fault {
	for i := range faults {
		if faults[i].at.labels == label {
			return &faults[i]
		}
	}
	return nil
}

// incomplete reports whether a required member is missing. The service then reports all
// faults at once, which once was its general rule.
func incomplete(faults []fault) bool {
	return slices.ContainsFunc(faults, func(f fault) bool { return f.missing })
}

// tableNameFirst reports only a bad table name, if there is one.
func tableNameFirst(body []byte, faults []fault) *wire.Error {
	if f := find(faults, "tableName"); f != nil && !incomplete(faults) {
		f.shortForm = f.value == "" && !Deep(body)
		return refuse(*f)
	}
	return refuse(newerReturnValues(body, faults)...)
}

// nameThenReturnValues reports only a bad table name, or else only bad ReturnValues.
func nameThenReturnValues(body []byte, faults []fault) *wire.Error {
	if find(faults, "tableName") == nil && !incomplete(faults) {
		if f := find(faults, "returnValues"); f != nil {
			return refuse(newerReturnValues(body, []fault{*f})...)
		}
	}
	return tableNameFirst(body, faults)
}

// newerReturnValues puts a fault of ReturnValues, in a newer form, after that of
// ReturnConsumedCapacity. This is so for requests that are complete and do not nest deep.
func newerReturnValues(body []byte, faults []fault) []fault {
	if find(faults, "returnValues") == nil || incomplete(faults) || Deep(body) {
		return faults
	}
	isOther := func(f fault) bool { return f.at.labels != "returnConsumedCapacity" && f.at.labels != "returnValues" }
	var list []fault
	for _, label := range []string{"returnConsumedCapacity", "returnValues"} {
		if f := find(faults, label); f != nil {
			f.generic = label == "returnValues"
			list = append(list, *f)
		}
	}
	for _, f := range faults {
		if isOther(f) {
			list = append(list, f)
		}
	}
	return list
}

// maxNesting is the maximum nesting of the body of a request to write one item for which the
// newer checks are made.
const maxNesting = 128

// Deep reports whether a request nests so deep that only the older checks are made.
func Deep(body []byte) bool {
	depth, quoted := 0, false
	for i := 0; i < len(body); i++ {
		switch c := body[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			if depth++; depth > maxNesting {
				return true
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return false
}

// batch has a message of its own for a missing RequestItems, and for an empty one of a
// BatchWriteItem. Faults of a BatchWriteItem's maps are reported only if there are no others.
func batch(name string) func(body []byte, faults []fault) *wire.Error {
	return func(_ []byte, faults []fault) *wire.Error {
		if f := find(faults, "requestItems"); f != nil && !f.ofMap {
			if name == "BatchGetItem" && !f.missing {
				f.shortForm = true
				return refuse(*f)
			}
			return wire.Invalid("The requestItems parameter is required for %s", name)
		}
		if name == "BatchWriteItem" {
			var others []fault
			for _, f := range faults {
				if !f.ofMap {
					others = append(others, f)
				}
			}
			if len(others) > 0 && !incomplete(others) {
				return refuse(others...)
			}
		}
		return refuse(faults...)
	}
}

// tableNameRequired has a message of its own for a missing table name.
func tableNameRequired(_ []byte, faults []fault) *wire.Error {
	if f := find(faults, "tableName"); f != nil && f.missing {
		return wire.Invalid("The parameter 'TableName' is required but was not present in the request")
	}
	return refuse(faults...)
}

// tableNameLength also has a message of its own for the length of a table's name.
func tableNameLength(body []byte, faults []fault) *wire.Error {
	for _, f := range faults {
		if n := javaLength(f.value); f.at.labels == "tableName" && !f.missing && (n < someTable.min || n > someTable.max) {
			return wire.Invalid("TableName must be at least 3 characters long and at most 255 characters long")
		}
	}
	return tableNameRequired(body, faults)
}

// nameLength has a message of its own for the length of the member called label, which the
// message calls kind.
func nameLength(label, kind string) func(body []byte, faults []fault) *wire.Error {
	return func(_ []byte, faults []fault) *wire.Error {
		for _, f := range faults {
			if n := javaLength(f.value); f.at.labels == label && !f.missing && (n < 3 || n > 255) {
				return wire.Invalid("%s must be at least 3 characters long and at most 255 characters long", kind)
			}
		}
		return refuse(faults...)
	}
}

// insightsNameLengths does this for the names of the table and of the index.
func insightsNameLengths(body []byte, faults []fault) *wire.Error {
	if find(faults, "tableName") != nil {
		return tableNameLength(body, faults)
	}
	return nameLength("indexName", "IndexName")(body, faults)
}
