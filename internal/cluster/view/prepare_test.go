package view_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kasoku/kasoku/internal/cluster/view"
	"github.com/kasoku/kasoku/internal/testutil/viewtest"
)

func TestPrepareCreatesTheTable(t *testing.T) {
	call := newEmbedded(t)
	if _, err := newStore(call).Read(t.Context()); err == nil || !strings.Contains(err.Error(), "400 ResourceNotFoundException") {
		t.Fatalf("a read without a table returned %v", err)
	}
	// Members start at the same time.
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if err := newStore(call).Prepare(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if v, err := newStore(call).Read(t.Context()); err != nil || v.Rev != 0 {
		t.Errorf("got %+v, %v", v, err)
	}
}

func TestPrepareRefusesOtherKeys(t *testing.T) {
	for _, schema := range []string{
		`"AttributeDefinitions":[{"AttributeName":"id","AttributeType":"S"}],"KeySchema":[{"AttributeName":"id","KeyType":"HASH"}]`,
		`"AttributeDefinitions":[{"AttributeName":"cluster","AttributeType":"N"}],"KeySchema":[{"AttributeName":"cluster","KeyType":"HASH"}]`,
		`"AttributeDefinitions":[{"AttributeName":"cluster","AttributeType":"S"},{"AttributeName":"rev","AttributeType":"N"}],` +
			`"KeySchema":[{"AttributeName":"cluster","KeyType":"HASH"},{"AttributeName":"rev","KeyType":"RANGE"}]`,
	} {
		call := newEmbedded(t)
		status, answer, err := call(t.Context(), "DynamoDB_20120810.CreateTable",
			[]byte(`{"TableName":"kasoku-cluster","BillingMode":"PAY_PER_REQUEST",`+schema+`}`))
		if status != 200 || err != nil {
			t.Fatalf("got %d %s %v", status, answer, err)
		}
		const want = "cluster view: table kasoku-cluster has another key than the partition key cluster of type S without a sort key"
		if err := newStore(call).Prepare(t.Context()); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: got %v", schema, err)
		}
	}
}

// step is an expected request and the answer to it.
type step struct {
	operation string
	status    int
	answer    string
}

// script returns a Caller that expects the steps in their order.
func script(t *testing.T, steps ...step) (call view.Caller, done func()) {
	return func(_ context.Context, target string, body []byte) (int, []byte, error) {
			if len(steps) == 0 {
				t.Errorf("unexpected %s", target)
				return 0, nil, errors.New("the script is at its end")
			}
			next := steps[0]
			steps = steps[1:]
			if target != "DynamoDB_20120810."+next.operation || !bytes.Contains(body, []byte(`"TableName":"kasoku-cluster"`)) {
				t.Errorf("got %s %s, want %s", target, body, next.operation)
			}
			return next.status, []byte(next.answer), nil
		}, func() {
			t.Helper()
			if len(steps) > 0 {
				t.Errorf("%d requests were not sent: %+v", len(steps), steps)
			}
		}
}

func failed(operation string, status int, code string) step {
	return step{operation, status, `{"__type":"com.amazonaws.dynamodb.v20120810#` + code + `","message":"reason"}`}
}

func described(tableStatus, more string) step {
	return step{"DescribeTable", 200, `{"Table":{"TableName":"kasoku-cluster","TableStatus":"` + tableStatus + `","ItemCount":3,"CreationDateTime":1.5,
		"TableArn":"arn:aws:dynamodb:eu-central-1:123456789012:table/kasoku-cluster",
		"AttributeDefinitions":[{"AttributeName":"cluster","AttributeType":"S"}],"KeySchema":[{"AttributeName":"cluster","KeyType":"HASH"}]` + more + `}}`}
}

func TestPrepare(t *testing.T) {
	created := step{"CreateTable", 200, `{"TableDescription":{"TableStatus":"CREATING"}}`}
	missing := failed("DescribeTable", 400, "ResourceNotFoundException")
	const command = "aws dynamodb create-table --table-name kasoku-cluster --billing-mode PAY_PER_REQUEST \\\n" +
		"  --attribute-definitions AttributeName=cluster,AttributeType=S --key-schema AttributeName=cluster,KeyType=HASH\n"
	const actions = "dynamodb:DescribeTable, dynamodb:GetItem and dynamodb:PutItem on arn:aws:dynamodb:*:*:table/kasoku-cluster, and dynamodb:CreateTable if"
	for _, c := range []struct {
		name  string
		steps []step
		took  time.Duration
		want  []string // parts of the error; none for success
		log   string
	}{
		{"active", []step{described("ACTIVE", "")}, 0, nil, ""},
		{"updating", []step{described("UPDATING", "")}, 0, nil, ""},
		{"being created", []step{described("CREATING", ""), described("CREATING", ""), described("ACTIVE", "")}, time.Second, nil, ""},
		{"missing", []step{missing, created, missing, described("CREATING", ""), described("ACTIVE", "")}, time.Second, nil,
			"created the table of the cluster's view"},
		{"created by another member", []step{missing, failed("CreateTable", 400, "ResourceInUseException"), described("ACTIVE", "")}, 0, nil, ""},
		{"never active", []step{missing, created, missing, missing, missing, missing, missing}, 2250 * time.Millisecond,
			[]string{"cluster view: waiting until table kasoku-cluster is active: context deadline exceeded"}, "created"},
		{"being deleted", []step{described("DELETING", "")}, 0, []string{`table kasoku-cluster has the status "DELETING"`}, ""},
		{"archived", []step{described("ARCHIVED", "")}, 0, []string{`table kasoku-cluster has the status "ARCHIVED"`}, ""},
		{"no description", []step{{"DescribeTable", 200, `{}`}}, 0, []string{"the description of table kasoku-cluster: unexpected end"}, ""},
		{"null description", []step{{"DescribeTable", 200, `{"Table":null}`}}, 0, []string{`table kasoku-cluster has the status ""`}, ""},
		{"global", []step{described("ACTIVE", `,"Replicas":[{"RegionName":"us-east-1"}]`)}, 0, nil, "all members must use the same region"},
		{"global and strong", []step{described("ACTIVE", `,"MultiRegionConsistency":"STRONG","Replicas":[{"RegionName":"us-east-1"}]`)}, 0, nil, ""},
		{"may not be described", []step{failed("DescribeTable", 400, "AccessDeniedException")}, 0,
			[]string{"DescribeTable on table kasoku-cluster was answered with 400 AccessDeniedException: reason", command, actions}, ""},
		{"may not be created", []step{missing, failed("CreateTable", 400, "AccessDeniedException")}, 0,
			[]string{"CreateTable on table kasoku-cluster was answered with 400 AccessDeniedException: reason", command, actions}, ""},
		{"can't be created", []step{missing, failed("CreateTable", 400, "LimitExceededException")}, 0,
			[]string{"CreateTable on table kasoku-cluster was answered with 400 LimitExceededException: reason", command, actions}, ""},
		{"unavailable", []step{failed("DescribeTable", 500, "InternalServerError")}, 0, []string{"500 InternalServerError: reason"}, ""},
		{"unavailable for creation", []step{missing, failed("CreateTable", 500, "InternalServerError")}, 0, []string{"500 InternalServerError: reason"}, ""},
		{"unavailable after creation", []step{missing, created, failed("DescribeTable", 400, "ThrottlingException")}, 0,
			[]string{"400 ThrottlingException: reason"}, "created"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 2250*time.Millisecond)
				defer cancel()
				call, done := script(t, c.steps...)
				var log bytes.Buffer
				s := view.New(view.Config{Cluster: "production", Table: table, Call: call, Log: slog.New(slog.NewTextHandler(&log, nil))})
				start := time.Now()
				err := s.Prepare(ctx)
				if created := strings.Contains(c.log, "created"); s.Empty().IsZero() == created {
					t.Errorf("Empty returns %v", s.Empty())
				}
				if took := time.Since(start); took != c.took {
					t.Errorf("it took %v, want %v", took, c.took)
				}
				if (err == nil) != (c.want == nil) {
					t.Errorf("got %v", err)
				}
				for _, want := range c.want {
					if err != nil && !strings.Contains(err.Error(), want) {
						t.Errorf("got %v\nwithout %s", err, want)
					}
				}
				if err != nil && len(c.want) == 1 && strings.Contains(err.Error(), "create-table") {
					t.Errorf("the error advises to create the table: %v", err)
				}
				if !strings.Contains(log.String(), c.log) || c.log == "" && log.Len() > 0 {
					t.Errorf("logged %q, want %q", log.String(), c.log)
				}
				done()
			})
		})
	}
}

// TestPrepareNotesTheResource checks that later errors name the table as IAM policies do.
func TestPrepareNotesTheResource(t *testing.T) {
	call, done := script(t, described("ACTIVE", ""), failed("PutItem", 400, "AccessDeniedException"))
	s := newStore(call)
	if err := s.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	err := s.Write(t.Context(), 0, viewtest.Members(1))
	want := "need the IAM action dynamodb:PutItem on arn:aws:dynamodb:eu-central-1:123456789012:table/kasoku-cluster"
	if err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("got %v", err)
	}
	var e *view.Error
	if !errors.As(err, &e) || !reflect.DeepEqual(e, &view.Error{Operation: "PutItem", Table: table, Status: 400, Code: "AccessDeniedException",
		Message: "reason", Resource: "arn:aws:dynamodb:eu-central-1:123456789012:table/kasoku-cluster"}) {
		t.Errorf("got %+v", e)
	}
	done()
}
