package shape

import "github.com/kasoku/kasoku/internal/dynamo/wire"

// operation is a request's shape and what is special about telling its faults.
type operation struct {
	input *shape
	// explain makes the answer for a body that breaks constraints.
	explain func(body []byte, faults []fault) *wire.Error
}

// operations are those that a store may offer, of both services.
var operations = map[string]*operation{
	"GetItem":            {getItem, plainly},
	"PutItem":            {putItem, nameFirst},
	"UpdateItem":         {updateItem, updateOneByOne},
	"DeleteItem":         {deleteItem, nameFirst},
	"Query":              {query, plainly},
	"Scan":               {scan, plainly},
	"SearchVectors":      {searchVectors, plainly},
	"BatchGetItem":       {batchGetItem, batch("BatchGetItem")},
	"BatchWriteItem":     {batchWriteItem, batch("BatchWriteItem")},
	"TransactGetItems":   {transactGetItems, plainly},
	"TransactWriteItems": {transactWriteItems, plainly},

	"ExecuteStatement":      {executeStatement, plainly},
	"BatchExecuteStatement": {batchExecuteStatement, plainly},
	"ExecuteTransaction":    {executeTransaction, plainly},

	"CreateTable":               {createTable, tableRequired},
	"UpdateTable":               {updateTable, tableBounded},
	"DeleteTable":               {deleteTable, tableBounded},
	"DescribeTable":             {describeTable, tableBounded},
	"ListTables":                {listTables, plainly},
	"UpdateTimeToLive":          {updateTimeToLive, tableBounded},
	"DescribeTimeToLive":        {describeTimeToLive, tableBounded},
	"DescribeContinuousBackups": {describeContinuousBackups, tableBounded},
	"UpdateContinuousBackups":   {updateContinuousBackups, tableBounded},

	"CreateBackup":                        {createBackup, tableBounded},
	"DescribeBackup":                      {oneBackup, plainly},
	"DeleteBackup":                        {deleteBackup, plainly},
	"ListBackups":                         {listBackups, plainly},
	"RestoreTableFromBackup":              {restoreFromBackup, bounded("targetTableName", "TableName")},
	"RestoreTableToPointInTime":           {restoreToPointInTime, plainly},
	"ExportTableToPointInTime":            {exportTable, plainly},
	"DescribeExport":                      {describeExport, plainly},
	"ListExports":                         {listExports, plainly},
	"ImportTable":                         {importTable, plainly},
	"DescribeImport":                      {describeImport, plainly},
	"ListImports":                         {listImports, plainly},
	"CreateGlobalTable":                   {createGlobalTable, bounded("globalTableName", "TableName")},
	"UpdateGlobalTable":                   {updateGlobalTable, bounded("globalTableName", "TableName")},
	"DescribeGlobalTable":                 {oneGlobalTable, bounded("globalTableName", "TableName")},
	"DescribeGlobalTableSettings":         {oneGlobalTable, bounded("globalTableName", "TableName")},
	"UpdateGlobalTableSettings":           {oneGlobalTable, bounded("globalTableName", "TableName")},
	"ListGlobalTables":                    {listGlobalTables, plainly},
	"DescribeTableReplicaAutoScaling":     {replicaAutoScaling, tableBounded},
	"UpdateTableReplicaAutoScaling":       {replicaAutoScaling, tableBounded},
	"GetResourcePolicy":                   {getResourcePolicy, plainly},
	"PutResourcePolicy":                   {putResourcePolicy, plainly},
	"DeleteResourcePolicy":                {deleteResourcePolicy, plainly},
	"DescribeContributorInsights":         {describeContributorInsights, insightsBounded},
	"UpdateContributorInsights":           {updateContributorInsights, insightsBounded},
	"ListContributorInsights":             {listContributorInsights, plainly},
	"DescribeKinesisStreamingDestination": {describeDestination, tableBounded},
	"EnableKinesisStreamingDestination":   {changeDestination, tableBounded},
	"DisableKinesisStreamingDestination":  {changeDestination, tableBounded},
	"UpdateKinesisStreamingDestination":   {changeDestination, tableBounded},

	"TagResource":        {tagResource, plainly},
	"UntagResource":      {untagResource, plainly},
	"ListTagsOfResource": {listTagsOfResource, plainly},
	"DescribeLimits":     {describeLimits, plainly},
	"DescribeEndpoints":  {describeEndpoints, plainly},

	"ListStreams":      {listStreams, plainly},
	"DescribeStream":   {describeStream, plainly},
	"GetShardIterator": {getShardIterator, plainly},
	"GetRecords":       {getRecords, plainly},
}

// plainly tells all faults.
func plainly(_ []byte, faults []fault) *wire.Error { return refuse(faults...) }

// find returns the fault of the request's member called label, nil if it has
// none.
func find(faults []fault, label string) *fault {
	for i := range faults {
		if faults[i].at.labels == label {
			return &faults[i]
		}
	}
	return nil
}

// incomplete reports whether a member is missing that must be there. The
// service then tells everything at once, as it used to always.
func incomplete(faults []fault) bool {
	for i := range faults {
		if faults[i].missing {
			return true
		}
	}
	return false
}

// nameFirst stops at a bad name of the table.
func nameFirst(_ []byte, faults []fault) *wire.Error {
	if f := find(faults, "tableName"); f != nil && !incomplete(faults) {
		return refuse(*f)
	}
	return refuse(faults...)
}

// updateOneByOne stops at bad ReturnValues, too.
func updateOneByOne(body []byte, faults []fault) *wire.Error {
	if find(faults, "tableName") == nil && !incomplete(faults) {
		if f := find(faults, "returnValues"); f != nil {
			return refuse(*f)
		}
	}
	return nameFirst(body, faults)
}

// batch asks for RequestItems in words of its own. A write is told of its maps
// once nothing else is wrong.
func batch(name string) func(body []byte, faults []fault) *wire.Error {
	return func(_ []byte, faults []fault) *wire.Error {
		if f := find(faults, "requestItems"); f != nil && !f.ofMap {
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

// tableRequired asks for the table's name in words of its own.
func tableRequired(_ []byte, faults []fault) *wire.Error {
	if f := find(faults, "tableName"); f != nil && f.missing {
		return wire.Invalid("The parameter 'TableName' is required but was not present in the request")
	}
	return refuse(faults...)
}

// tableBounded tells the length of a table's name so, too.
func tableBounded(body []byte, faults []fault) *wire.Error {
	for _, f := range faults {
		if n := javaLength(f.value); f.at.labels == "tableName" && !f.missing && (n < someTable.min || n > someTable.max) {
			return wire.Invalid("TableName must be at least 3 characters long and at most 255 characters long")
		}
	}
	return tableRequired(body, faults)
}

// bounded tells the length of the name with the label in words of its own, in
// which it is called kind.
func bounded(label, kind string) func(body []byte, faults []fault) *wire.Error {
	return func(_ []byte, faults []fault) *wire.Error {
		for _, f := range faults {
			if n := javaLength(f.value); f.at.labels == label && !f.missing && (n < 3 || n > 255) {
				return wire.Invalid("%s must be at least 3 characters long and at most 255 characters long", kind)
			}
		}
		return refuse(faults...)
	}
}

// insightsBounded tells the lengths of both names so.
func insightsBounded(body []byte, faults []fault) *wire.Error {
	if find(faults, "tableName") != nil {
		return tableBounded(body, faults)
	}
	return bounded("indexName", "IndexName")(body, faults)
}
