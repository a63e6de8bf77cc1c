package view

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/kasoku/kasoku/internal/cluster/protocol"
)

// Caller sends one request in DynamoDB's JSON protocol to the origin and returns the status
// and the body of the answer. The target is the value of X-Amz-Target, for example
// "DynamoDB_20120810.GetItem". It may send a request more than once.
type Caller func(ctx context.Context, target string, body []byte) (status int, answer []byte, err error)

// Config configures a Store.
type Config struct {
	// Cluster is the name of the cluster, which is the item's key.
	Cluster string
	// Table is the name of the table.
	Table string
	// Call sends requests to the origin.
	Call Caller
	// Log receives events of the table. nil discards them.
	Log *slog.Logger
}

// Store reads and writes the view of one cluster. Its methods may be called at the same
// time.
type Store struct {
	cfg      Config
	log      *slog.Logger
	newWrite func() string          // returns a random text
	arn      atomic.Pointer[string] // the table's, after Prepare
	empty    time.Time              // when the table that Prepare has created had no item
}

// New returns the store of the view of cfg.Cluster. It sends nothing.
func New(cfg Config) *Store {
	s := &Store{cfg: cfg, log: cfg.Log, newWrite: rand.Text}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	return s
}

// maxAnswer limits the length of an answer that is parsed. An item of maxSize takes up to six
// times its size as JSON, if all its characters are escaped.
const maxAnswer = 4 << 20

// Read returns the view as the origin has it now, with a strongly consistent read. Without an
// item it returns the zero View. If the item can't be parsed, it returns an error.
func (s *Store) Read(ctx context.Context) (protocol.View, error) {
	answer, err := s.call(ctx, "GetItem", item{
		"TableName": s.cfg.Table, "Key": item{"cluster": text(s.cfg.Cluster)}, "ConsistentRead": true,
	})
	if err != nil {
		return protocol.View{}, err
	}
	stored, ok := answer["Item"]
	if !ok {
		return protocol.View{}, nil
	}
	v, _, err := decode(s.cfg.Cluster, stored)
	if err != nil {
		return protocol.View{}, fmt.Errorf("cluster view: the item %q of table %s: %w", s.cfg.Cluster, s.cfg.Table, err)
	}
	return v, nil
}

// Write replaces the view whose revision is expect, or creates the item if expect is 0.
// v.Rev must be expect+1. It returns ErrConflict if the stored revision or creator is another
// one. After
// any other error the outcome is unknown, and the write may still take effect later.
func (s *Store) Write(ctx context.Context, expect uint64, v protocol.View) error {
	if v.Rev != expect+1 {
		return fmt.Errorf("cluster view: revision %d can't replace %d", v.Rev, expect)
	}
	write := s.newWrite()
	stored, err := encode(s.cfg.Cluster, write, &v)
	if err != nil {
		return err
	}
	request := item{
		"TableName": s.cfg.Table, "Item": stored,
		"ReturnValuesOnConditionCheckFailure": "ALL_OLD",
	}
	if expect == 0 {
		request["ConditionExpression"] = "attribute_not_exists(#cluster)"
		request["ExpressionAttributeNames"] = item{"#cluster": "cluster"}
	} else {
		request["ConditionExpression"] = "#rev = :rev AND #creator = :creator"
		request["ExpressionAttributeNames"] = item{"#rev": "rev", "#creator": "creator"}
		request["ExpressionAttributeValues"] = item{":rev": number(expect), ":creator": hex(v.Creator)}
	}
	answer, err := s.call(ctx, "PutItem", request)
	if !hasCode(err, conditionFailed) {
		return err
	}
	// A request that Call repeated fails if the first one has taken effect.
	if _, last, err := decode(s.cfg.Cluster, answer["Item"]); err == nil && last == write {
		return nil
	}
	return ErrConflict
}

// call sends a request and returns the members of the answer. With an Error it returns the
// members of the error.
func (s *Store) call(ctx context.Context, operation string, request item) (map[string]json.RawMessage, error) {
	body, err := json.Marshal(request)
	if err != nil {
		return nil, fmt.Errorf("cluster view: %s: %w", operation, err)
	}
	status, answer, err := s.cfg.Call(ctx, "DynamoDB_20120810."+operation, body)
	if err != nil {
		return nil, fmt.Errorf("cluster view: %s on table %s: %w", operation, s.cfg.Table, err)
	}
	if len(answer) > maxAnswer {
		return nil, fmt.Errorf("cluster view: %s on table %s: the answer has %d bytes, and the maximum is %d",
			operation, s.cfg.Table, len(answer), maxAnswer)
	}
	var members map[string]json.RawMessage
	err = json.Unmarshal(answer, &members)
	if err == nil && members == nil {
		err = errors.New("it is null")
	}
	if status != http.StatusOK {
		failure := &Error{Operation: operation, Table: s.cfg.Table, Status: status, Resource: s.resource()}
		failure.parse(answer)
		return members, failure
	}
	if err != nil {
		return nil, fmt.Errorf("cluster view: %s on table %s: the answer is not a JSON object: %w", operation, s.cfg.Table, err)
	}
	return members, nil
}

// resource returns the table as the resource of an IAM policy.
func (s *Store) resource() string {
	if arn := s.arn.Load(); arn != nil {
		return *arn
	}
	return "arn:aws:dynamodb:*:*:table/" + s.cfg.Table
}
