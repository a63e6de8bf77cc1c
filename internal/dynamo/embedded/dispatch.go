package embedded

import (
	"bytes"
	"errors"
	"hash/crc32"
	"log/slog"
	"net/http"

	"github.com/kasoku/kasoku/internal/dynamo/shape"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
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

// ErrClosed is the error of requests after Close.
var ErrClosed = errors.New("the store is closed")

// Do executes a request of DynamoDB's JSON protocol. It returns an error only if the store
// is closed.
func (s *Store) Do(r *Request) (Answer, error) {
	s.running.RLock()
	defer s.running.RUnlock()
	if s.closed {
		return Answer{}, ErrClosed
	}
	s.requests.Add(1)
	s.inFlight.Add(1)
	defer s.inFlight.Add(-1)
	c := s.calls.Get().(*call)
	c.begin(s, r)
	answer := c.answer(r)
	c.end()
	s.calls.Put(c)
	return answer, nil
}

// answer looks up the operation and returns the response.
func (c *call) answer(r *Request) Answer {
	if r.Path != "/" || r.Method != http.MethodPost {
		return c.otherPath(r)
	}
	err := recoverPanics(func() error { return c.run(r) })
	if err == nil {
		return c.reply(r, http.StatusOK)
	}
	if errors.Is(err, errReset) {
		return Answer{Reset: true, Uncertain: c.uncertain}
	}
	e := asFault(err)
	if e == nil {
		c.s.log.Error("embedded store: a request failed", slog.String("operation", c.op), slog.Any("error", err))
		e = internalError()
	}
	c.out = e.Append(c.out[:0])
	return c.reply(r, e.Status())
}

func internalError() *wire.Error {
	return &wire.Error{Type: "InternalServerError", Message: "Internal server error"}
}

// run checks the request and calls its handler.
func (c *call) run(r *Request) error {
	valid := wire.Valid(r.Body, wire.MaxDepth) && wire.Kind(bytes.TrimLeft(r.Body, " \n\t\r")) == '{'
	deep := !valid && wire.TooDeep(r.Body)
	if !valid && !deep && len(r.Body) > 0 {
		return &wire.Error{Type: "SerializationException"}
	}
	op, _ := wire.FindOperation(r.Target)
	h := handlers[op.Name]
	switch {
	case h == nil:
		return &wire.Error{Type: "UnknownOperationException"}
	case deep:
		return wire.NestingError()
	case !valid:
		return &wire.Error{Type: "SerializationException"}
	}
	c.op, c.host = op.Name, r.Host
	if err := shape.Check(op.Name, r.Body); err != nil {
		return err
	}
	if f := c.s.faults.Load(); f != nil && !r.Own {
		return c.runFaulty(f, op, h)
	}
	return h(c)
}

// otherPath answers a request that is not an operation, as the service does.
func (c *call) otherPath(r *Request) Answer {
	if r.Method == http.MethodGet && r.Path == "/" {
		body := []byte("healthy: dynamodb." + c.s.cfg.Region + ".amazonaws.com ")
		return Answer{Status: http.StatusOK, ContentType: []byte("text/plain"), Body: body}
	}
	return Answer{Status: http.StatusNotFound, Body: []byte("<UnknownOperationException/>\n")}
}

var (
	typeJSON    = []byte("application/x-amz-json-1.0")
	typeGeneric = []byte("application/json")
)

// answerType returns the content type of an answer: the request's type, if it is one of the
// protocol's two.
func answerType(r *Request) []byte {
	typ, _, _ := bytes.Cut(r.ContentType, []byte(";"))
	if bytes.EqualFold(bytes.TrimSpace(typ), typeGeneric) {
		return typeGeneric
	}
	return typeJSON
}

// reply returns the answer with the body c.out.
func (c *call) reply(r *Request, status int) Answer {
	body := c.replyBody()
	return Answer{Status: status, ContentType: answerType(r), Checksum: crc32.ChecksumIEEE(body), HasChecksum: true, Uncertain: c.uncertain, Body: body}
}
