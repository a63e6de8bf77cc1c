package embedded

import (
	"bytes"
	"context"
	"errors"
	"hash/crc32"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/kasoku/kasoku/internal/dynamo/shape"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/origin"
)

// handler executes one operation. It appends the body of a successful reply to c.out, or
// returns an error, which is a *wire.Error if the client caused it.
type handler func(c *call) error

// handlers maps the supported operations to their handlers. init fills it, because some
// handlers use it themselves.
var handlers map[string]handler

func init() {
	handlers = map[string]handler{
		"GetItem":            (*call).getItem,
		"PutItem":            (*call).putItem,
		"UpdateItem":         (*call).updateItem,
		"DeleteItem":         (*call).deleteItem,
		"Query":              (*call).query,
		"Scan":               (*call).scan,
		"SearchVectors":      (*call).searchVectors,
		"BatchGetItem":       (*call).batchGetItem,
		"BatchWriteItem":     (*call).batchWriteItem,
		"TransactGetItems":   (*call).transactGetItems,
		"TransactWriteItems": (*call).transactWriteItems,

		"ExecuteStatement":      (*call).executeStatement,
		"BatchExecuteStatement": (*call).batchExecuteStatement,
		"ExecuteTransaction":    (*call).executeTransaction,

		"CreateTable":        (*call).createTable,
		"UpdateTable":        (*call).updateTable,
		"DeleteTable":        (*call).deleteTable,
		"DescribeTable":      (*call).describeTable,
		"ListTables":         (*call).listTables,
		"UpdateTimeToLive":   (*call).updateTimeToLive,
		"DescribeTimeToLive": (*call).describeTimeToLive,
		"TagResource":        (*call).tagResource,
		"UntagResource":      (*call).untagResource,
		"ListTagsOfResource": (*call).listTagsOfResource,
		"DescribeLimits":     (*call).describeLimits,
		"DescribeEndpoints":  (*call).describeEndpoints,

		"DescribeContinuousBackups":           (*call).describeContinuousBackups,
		"UpdateContinuousBackups":             (*call).updateContinuousBackups,
		"CreateBackup":                        (*call).createBackup,
		"DescribeBackup":                      (*call).noBackup,
		"DeleteBackup":                        (*call).noBackup,
		"ListBackups":                         (*call).listBackups,
		"RestoreTableFromBackup":              (*call).noBackup,
		"RestoreTableToPointInTime":           (*call).restoreToPointInTime,
		"ExportTableToPointInTime":            (*call).exportTable,
		"DescribeExport":                      (*call).describeExport,
		"ListExports":                         (*call).listExports,
		"ImportTable":                         (*call).importTable,
		"DescribeImport":                      (*call).describeImport,
		"ListImports":                         (*call).listImports,
		"CreateGlobalTable":                   (*call).createGlobalTable,
		"UpdateGlobalTable":                   (*call).noGlobalTable,
		"DescribeGlobalTable":                 (*call).noGlobalTable,
		"DescribeGlobalTableSettings":         (*call).noGlobalTable,
		"UpdateGlobalTableSettings":           (*call).noGlobalTable,
		"ListGlobalTables":                    (*call).listGlobalTables,
		"DescribeTableReplicaAutoScaling":     (*call).noReplicas,
		"UpdateTableReplicaAutoScaling":       (*call).noReplicas,
		"GetResourcePolicy":                   (*call).getResourcePolicy,
		"PutResourcePolicy":                   (*call).putResourcePolicy,
		"DeleteResourcePolicy":                (*call).deleteResourcePolicy,
		"DescribeContributorInsights":         (*call).describeContributorInsights,
		"UpdateContributorInsights":           (*call).updateContributorInsights,
		"ListContributorInsights":             (*call).listContributorInsights,
		"DescribeKinesisStreamingDestination": (*call).describeKinesisStreamingDestination,
		"EnableKinesisStreamingDestination":   (*call).enableKinesisStreamingDestination,
		"DisableKinesisStreamingDestination":  (*call).disableKinesisStreamingDestination,
		"UpdateKinesisStreamingDestination":   (*call).updateKinesisStreamingDestination,

		"ListStreams":      (*call).listStreams,
		"DescribeStream":   (*call).describeStream,
		"GetShardIterator": (*call).getShardIterator,
		"GetRecords":       (*call).getRecords,
	}
}

// errClosed is the error of requests after Close.
var errClosed = &origin.Fault{Origin: "embedded", Kind: origin.Unprepared, Err: errors.New("the store is closed")}

// Do executes a request of DynamoDB's JSON protocol. It returns an error only if the store
// is closed, an *origin.Fault. A started request is completed even if the client has
// disconnected.
func (s *Store) Do(_ context.Context, r *origin.Request) (*origin.Response, error) {
	s.running.RLock()
	defer s.running.RUnlock()
	if s.closed {
		return nil, errClosed
	}
	begun := time.Now()
	s.requests.Add(1)
	s.inFlight.Add(1)
	defer s.inFlight.Add(-1)
	c := s.calls.Get().(*call)
	c.begin(s, r)
	resp := c.answer(r)
	resp.Attempts, resp.Duration = 1, time.Since(begun)
	c.end()
	s.calls.Put(c)
	return resp, nil
}

// answer looks up the operation and returns the response.
func (c *call) answer(r *origin.Request) *origin.Response {
	if r.Path != "/" || r.Method != http.MethodPost {
		return c.otherPath(r)
	}
	err := recoverPanics(func() error { return c.run(r) })
	if err == nil {
		return c.reply(r, http.StatusOK, origin.Good)
	}
	e := asFault(err)
	if e == nil {
		c.s.log.Error("embedded store: a request failed", slog.String("operation", c.op), slog.Any("error", err))
		e = internalError()
	}
	c.out = e.Append(c.out[:0])
	class := origin.Refused
	if e.Status() >= http.StatusInternalServerError {
		class = origin.Failed
	}
	return c.reply(r, e.Status(), class)
}

func internalError() *wire.Error {
	return &wire.Error{Type: "InternalServerError", Message: "Internal server error"}
}

// run checks the request and calls its handler.
func (c *call) run(r *origin.Request) error {
	valid := wire.Valid(r.Body, wire.MaxDepth) && wire.Kind(bytes.TrimLeft(r.Body, " \n\t\r")) == '{'
	deep := !valid && wire.TooDeep(r.Body)
	if !valid && !deep && len(r.Body) > 0 {
		return &wire.Error{Type: "SerializationException"}
	}
	op, _ := wire.FindOperation(r.Header.Get("X-Amz-Target"))
	h := handlers[op.Name]
	switch {
	case h == nil:
		return &wire.Error{Type: "UnknownOperationException"}
	case deep:
		return wire.NestingError()
	case !valid:
		return &wire.Error{Type: "SerializationException"}
	}
	c.op, c.host = op.Name, r.Header.Get("Host")
	if err := shape.Check(op.Name, r.Body); err != nil {
		return err
	}
	return h(c)
}

// otherPath answers a request that is not an operation, as the service does.
func (c *call) otherPath(r *origin.Request) *origin.Response {
	if r.Method == http.MethodGet && r.Path == "/" {
		body := []byte("healthy: dynamodb." + c.s.cfg.Region + ".amazonaws.com ")
		return &origin.Response{Status: http.StatusOK, Header: http1.FieldsOf("Content-Type", "text/plain"), Body: body}
	}
	return &origin.Response{Status: http.StatusNotFound, Body: []byte("<UnknownOperationException/>\n"), Class: origin.Refused}
}

// replyMemory holds all parts of a reply except its body, in one allocation.
type replyMemory struct {
	response origin.Response
	fields   [2]http1.Field
	crc      [10]byte
}

var (
	nameType    = []byte("Content-Type")
	nameCRC     = []byte("X-Amz-Crc32")
	typeJSON    = []byte("application/x-amz-json-1.0")
	typeGeneric = []byte("application/json")
)

// answerType returns the content type of an answer: the request's type, if it is one of the
// protocol's two.
func answerType(r *origin.Request) []byte {
	typ, _, _ := bytes.Cut(r.Header.Get("Content-Type"), []byte(";"))
	if bytes.EqualFold(bytes.TrimSpace(typ), typeGeneric) {
		return typeGeneric
	}
	return typeJSON
}

// reply returns the response with the body c.out.
func (c *call) reply(r *origin.Request, status int, class origin.Class) *origin.Response {
	body := c.replyBody()
	m := &replyMemory{}
	m.fields[0] = http1.Field{Name: nameType, Value: answerType(r)}
	m.fields[1] = http1.Field{Name: nameCRC, Value: strconv.AppendUint(m.crc[:0], uint64(crc32.ChecksumIEEE(body)), 10)}
	m.response = origin.Response{Status: status, Header: m.fields[:], Body: body, Class: class}
	return &m.response
}
