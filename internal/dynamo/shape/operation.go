package shape

import (
	"slices"
	"sync"

	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// operation is the shape of a request and the rule for reporting its faults.
type operation struct {
	build func() *shape
	// explain returns the error for a body that breaks constraints.
	explain func(body []byte, faults []fault) *wire.Error

	once sync.Once
	made *shape // by build
}

// input returns the shape of the request. It is made at the first call: a process needs few of the
// shapes, and none before it answers.
func (o *operation) input() *shape {
	o.once.Do(func() { o.made = o.build() })
	return o.made
}

// operations are the operations that a store may support, of both services.
var operations = map[string]*operation{
	"GetItem":            {build: getItem, explain: allFaults},
	"PutItem":            {build: putItem, explain: tableNameFirst},
	"UpdateItem":         {build: updateItem, explain: nameThenReturnValues},
	"DeleteItem":         {build: deleteItem, explain: tableNameFirst},
	"Query":              {build: query, explain: allFaults},
	"Scan":               {build: scan, explain: allFaults},
	"SearchVectors":      {build: searchVectors, explain: allFaults},
	"BatchGetItem":       {build: batchGetItem, explain: batch("BatchGetItem")},
	"BatchWriteItem":     {build: batchWriteItem, explain: batch("BatchWriteItem")},
	"TransactGetItems":   {build: transactGetItems, explain: allFaults},
	"TransactWriteItems": {build: transactWriteItems, explain: allFaults},

	"ExecuteStatement":      {build: executeStatement, explain: allFaults},
	"BatchExecuteStatement": {build: batchExecuteStatement, explain: allFaults},
	"ExecuteTransaction":    {build: executeTransaction, explain: allFaults},

	"CreateTable":               {build: createTable, explain: tableNameRequired},
	"UpdateTable":               {build: updateTable, explain: tableNameLength},
	"DeleteTable":               {build: deleteTable, explain: tableNameLength},
	"DescribeTable":             {build: describeTable, explain: tableNameLength},
	"ListTables":                {build: listTables, explain: allFaults},
	"UpdateTimeToLive":          {build: updateTimeToLive, explain: tableNameLength},
	"DescribeTimeToLive":        {build: describeTimeToLive, explain: tableNameLength},
	"DescribeContinuousBackups": {build: describeContinuousBackups, explain: tableNameLength},
	"UpdateContinuousBackups":   {build: updateContinuousBackups, explain: tableNameLength},

	"CreateBackup":                        {build: createBackup, explain: tableNameLength},
	"DescribeBackup":                      {build: oneBackup, explain: allFaults},
	"DeleteBackup":                        {build: deleteBackup, explain: allFaults},
	"ListBackups":                         {build: listBackups, explain: allFaults},
	"RestoreTableFromBackup":              {build: restoreFromBackup, explain: nameLength("targetTableName", "TableName")},
	"RestoreTableToPointInTime":           {build: restoreToPointInTime, explain: allFaults},
	"ExportTableToPointInTime":            {build: exportTable, explain: allFaults},
	"DescribeExport":                      {build: describeExport, explain: allFaults},
	"ListExports":                         {build: listExports, explain: allFaults},
	"ImportTable":                         {build: importTable, explain: allFaults},
	"DescribeImport":                      {build: describeImport, explain: allFaults},
	"ListImports":                         {build: listImports, explain: allFaults},
	"CreateGlobalTable":                   {build: createGlobalTable, explain: nameLength("globalTableName", "TableName")},
	"UpdateGlobalTable":                   {build: updateGlobalTable, explain: nameLength("globalTableName", "TableName")},
	"DescribeGlobalTable":                 {build: oneGlobalTable, explain: nameLength("globalTableName", "TableName")},
	"DescribeGlobalTableSettings":         {build: oneGlobalTable, explain: nameLength("globalTableName", "TableName")},
	"UpdateGlobalTableSettings":           {build: oneGlobalTable, explain: nameLength("globalTableName", "TableName")},
	"ListGlobalTables":                    {build: listGlobalTables, explain: allFaults},
	"DescribeTableReplicaAutoScaling":     {build: replicaAutoScaling, explain: tableNameLength},
	"UpdateTableReplicaAutoScaling":       {build: replicaAutoScaling, explain: tableNameLength},
	"GetResourcePolicy":                   {build: getResourcePolicy, explain: allFaults},
	"PutResourcePolicy":                   {build: putResourcePolicy, explain: allFaults},
	"DeleteResourcePolicy":                {build: deleteResourcePolicy, explain: allFaults},
	"DescribeContributorInsights":         {build: describeContributorInsights, explain: insightsNameLengths},
	"UpdateContributorInsights":           {build: updateContributorInsights, explain: insightsNameLengths},
	"ListContributorInsights":             {build: listContributorInsights, explain: allFaults},
	"DescribeKinesisStreamingDestination": {build: describeDestination, explain: tableNameLength},
	"EnableKinesisStreamingDestination":   {build: changeDestination, explain: tableNameLength},
	"DisableKinesisStreamingDestination":  {build: changeDestination, explain: tableNameLength},
	"UpdateKinesisStreamingDestination":   {build: changeDestination, explain: tableNameLength},

	"TagResource":        {build: tagResource, explain: allFaults},
	"UntagResource":      {build: untagResource, explain: allFaults},
	"ListTagsOfResource": {build: listTagsOfResource, explain: allFaults},
	"DescribeLimits":     {build: describeLimits, explain: allFaults},
	"DescribeEndpoints":  {build: describeEndpoints, explain: allFaults},

	"ListStreams":      {build: listStreams, explain: allFaults},
	"DescribeStream":   {build: describeStream, explain: allFaults},
	"GetShardIterator": {build: getShardIterator, explain: allFaults},
	"GetRecords":       {build: getRecords, explain: allFaults},
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
