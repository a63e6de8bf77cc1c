package model

import (
	"encoding/json"
	"hash/crc32"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// op is a supported operation.
type op int

const (
	opCreateTable op = iota
	opDeleteTable
	opDescribeTable
	opListTables
	opGetItem
	opPutItem
	opUpdateItem
	opDeleteItem
	opBatchGetItem
	opBatchWriteItem
	opTransactGetItems
	opTransactWriteItems
	opQuery
	opScan
	ops
)

var operations = map[string]struct {
	op    op
	serve func(db *DB, r *request) (any, *apiError)
}{
	"CreateTable":        {opCreateTable, (*DB).createTable},
	"DeleteTable":        {opDeleteTable, (*DB).deleteTable},
	"DescribeTable":      {opDescribeTable, (*DB).describeTable},
	"ListTables":         {opListTables, (*DB).listTables},
	"GetItem":            {opGetItem, (*DB).getItem},
	"PutItem":            {opPutItem, (*DB).putItem},
	"UpdateItem":         {opUpdateItem, (*DB).updateItem},
	"DeleteItem":         {opDeleteItem, (*DB).deleteItem},
	"BatchGetItem":       {opBatchGetItem, (*DB).batchGet},
	"BatchWriteItem":     {opBatchWriteItem, (*DB).batchWrite},
	"TransactGetItems":   {opTransactGetItems, (*DB).transactGet},
	"TransactWriteItems": {opTransactWriteItems, (*DB).transactWrite},
	"Query":              {opQuery, (*DB).query},
	"Scan":               {opScan, (*DB).scan},
}

// Requests returns the number of requests for the operation.
func (db *DB) Requests(operation string) int64 {
	return db.requests[operations[operation].op].Load()
}

// apiError is an error response.
type apiError struct {
	Type    string   `json:"__type"`
	Message string   `json:"message"`
	Item    Item     `json:"Item,omitempty"`
	Reasons []reason `json:"CancellationReasons,omitempty"`
}

type reason struct {
	Code    string
	Message string `json:",omitempty"`
	Item    Item   `json:",omitempty"`
}

const namespace = "com.amazonaws.dynamodb.v20120810#"

func invalid(message string) *apiError {
	return &apiError{Type: "com.amazon.coral.validate#ValidationException", Message: message}
}

func noTable() *apiError {
	return &apiError{Type: namespace + "ResourceNotFoundException", Message: "Requested resource not found"}
}

// request is the union of the members of all requests.
type request struct {
	TableName                 string
	IndexName                 string
	Key                       Item
	Item                      Item
	ConsistentRead            bool
	ProjectionExpression      string
	ExpressionAttributeNames  map[string]string
	ExpressionAttributeValues map[string]json.RawMessage
	ConditionExpression       string
	UpdateExpression          string
	KeyConditionExpression    string
	FilterExpression          string
	ReturnValues              string
	OnFailure                 string `json:"ReturnValuesOnConditionCheckFailure"`
	ScanIndexForward          *bool
	Limit                     int
	Select                    string
	ExclusiveStartKey         Item
	ClientRequestToken        string
	RequestItems              map[string]json.RawMessage
	TransactItems             []map[string]*request

	KeySchema              []struct{ AttributeName, KeyType string }
	GlobalSecondaryIndexes []struct {
		IndexName string
		KeySchema []struct{ AttributeName, KeyType string }
	}
	body []byte
}

func (r *request) scope() *scope {
	return &scope{r.ExpressionAttributeNames, r.ExpressionAttributeValues}
}

// ServeHTTP serves the JSON protocol. It ignores signatures.
func (db *DB) ServeHTTP(w http.ResponseWriter, hr *http.Request) {
	body, err := io.ReadAll(hr.Body)
	if err != nil {
		return
	}
	version, name, _ := strings.Cut(hr.Header.Get("X-Amz-Target"), ".")
	operation, ok := operations[name]
	if !ok || version != "DynamoDB_20120810" {
		respond(w, http.StatusBadRequest, &apiError{Type: "com.amazon.coral.service#UnknownOperationException"})
		return
	}
	db.requests[operation.op].Add(1)
	r := &request{body: body}
	if json.Unmarshal(body, r) != nil {
		respond(w, http.StatusBadRequest, &apiError{Type: "com.amazon.coral.service#SerializationException"})
		return
	}
	db.mu.Lock()
	answer, failure := operation.serve(db, r)
	db.mu.Unlock()
	if failure != nil {
		respond(w, http.StatusBadRequest, failure)
		return
	}
	respond(w, http.StatusOK, answer)
}

func respond(w http.ResponseWriter, status int, answer any) {
	body, err := json.Marshal(answer)
	if err != nil {
		status, body = http.StatusInternalServerError, []byte(`{}`)
	}
	h := w.Header()
	h.Set("Content-Type", "application/x-amz-json-1.0")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	h.Set("X-Amzn-Requestid", "MODEL")
	h.Set("X-Amz-Crc32", strconv.FormatUint(uint64(crc32.ChecksumIEEE(body)), 10))
	w.WriteHeader(status)
	w.Write(body)
}
