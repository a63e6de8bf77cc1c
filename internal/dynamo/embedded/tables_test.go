package embedded

import (
	"encoding/json"
	"fmt"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/dynamo/embedded/catalog"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// clock is a clock that tests set.
type clock struct{ now atomic.Int64 }

// clockAt returns a stopped clock.
func clockAt(at time.Time) *clock {
	c := &clock{}
	c.now.Store(at.UnixNano())
	return c
}

func (c *clock) Now() time.Time            { return time.Unix(0, c.now.Load()) }
func (c *clock) advance(d time.Duration)   { c.now.Add(int64(d)) }
func (c *clock) seconds(after int64) int64 { return c.Now().Unix() + after }

// createP returns a CreateTable request for a table with the partition key p.
func createP(name string, more ...string) string {
	return `{` + strings.Join(append([]string{fmt.Sprintf(`"TableName":%q`, name), `"KeySchema":[{"AttributeName":"p","KeyType":"HASH"}]`,
		`"BillingMode":"PAY_PER_REQUEST"`, defineKeys("p:S")}, more...), ",") + `}`
}

// defineKeys returns the AttributeDefinitions of "p:S x:N".
func defineKeys(list string) string {
	var out []string
	for _, d := range strings.Fields(list) {
		name, typ, _ := strings.Cut(d, ":")
		out = append(out, fmt.Sprintf(`{"AttributeName":%q,"AttributeType":%q}`, name, typ))
	}
	return `"AttributeDefinitions":[` + strings.Join(out, ",") + `]`
}

// description is the checked part of a table's description.
type description struct {
	TableName, TableStatus, TableId, TableArn string
	ItemCount, TableSizeBytes                 int64
	KeySchema, AttributeDefinitions           []any
	CreationDateTime                          *float64
	LatestStreamArn, LatestStreamLabel        string
	StreamSpecification                       *struct{ StreamViewType string }
	LocalSecondaryIndexes                     []any
	GlobalSecondaryIndexes                    []struct {
		IndexName, IndexStatus    string
		Backfilling               bool
		ItemCount, IndexSizeBytes int64
	}
}

// describe returns the description of a table.
func (s *Store) describe(t testing.TB, name string) description {
	t.Helper()
	return readDescription(t, s.mustSend(t, "DescribeTable", fmt.Sprintf(`{"TableName":%q}`, name)))
}

func readDescription(t testing.TB, reply string) description {
	t.Helper()
	var out struct{ Table, TableDescription description }
	if err := json.Unmarshal([]byte(reply), &out); err != nil {
		t.Fatalf("%s: %v", reply, err)
	}
	if out.Table.TableName == "" {
		return out.TableDescription
	}
	return out.Table
}

func TestTableLifecycle(t *testing.T) {
	dir := t.TempDir()
	s := openIdle(t, onDisk{Dir: dir, Config: Config{Region: "eu-west-1"}}, time.Now)
	missing := func(op, more string) {
		t.Helper()
		s.expectError(t, op, `{"TableName":"life"`+more+`}`, "ResourceNotFoundException", "Requested resource not found: Table: life not found")
	}
	missing("DescribeTable", "")
	missing("DeleteTable", "")
	missing("UpdateTable", `,"BillingMode":"PAY_PER_REQUEST"`)
	missing("DescribeTimeToLive", "")
	missing("UpdateTimeToLive", `,"TimeToLiveSpecification":{"Enabled":true,"AttributeName":"x"}`)

	made := readDescription(t, s.mustSend(t, "CreateTable", createP("life")))
	if made.TableStatus != "CREATING" || made.TableArn != "arn:aws:dynamodb:eu-west-1:000000000000:table/life" || len(made.TableId) != 36 {
		t.Errorf("got from CreateTable %+v", made)
	}
	s.expectError(t, "CreateTable", createP("life"), "ResourceInUseException", "Table already exists: life")
	s.expectError(t, "CreateTable", createP("li"), "ValidationException",
		"1 validation error detected: Value 'li' at 'tableName' failed to satisfy constraint: Member must have length greater than or equal to 3")

	s.mustSend(t, "PutItem", `{"TableName":"life","Item":{"p":{"S":"a"},"v":{"N":"12"}}}`)
	s.mustSend(t, "PutItem", `{"TableName":"life","Item":{"p":{"S":"b"}}}`)
	got := s.describe(t, "life")
	if got.TableStatus != "ACTIVE" || got.TableId != made.TableId || got.ItemCount != 2 || got.TableSizeBytes != 2+3+2 {
		t.Errorf("got the description %+v", got)
	}
	if byARN := s.describe(t, made.TableArn); byARN.TableId != made.TableId {
		t.Errorf("got by ARN the description %+v", byARN)
	}

	s.Close()
	s = openIdle(t, onDisk{Dir: dir, Config: Config{Region: "eu-west-1"}}, time.Now)
	if again := s.describe(t, "life"); fmt.Sprint(again) == "" || again.TableId != got.TableId || again.ItemCount != 2 || *again.CreationDateTime != *got.CreationDateTime {
		t.Errorf("got after a restart the description %+v", again)
	}

	s.mustSend(t, "UpdateTimeToLive", `{"TableName":"life","TimeToLiveSpecification":{"Enabled":true,"AttributeName":"v"}}`)
	s.finishBackfill(t)
	gone := readDescription(t, s.mustSend(t, "DeleteTable", `{"TableName":"life"}`))
	if gone.TableStatus != "DELETING" || gone.TableId != made.TableId || gone.ItemCount != 2 ||
		gone.KeySchema != nil || gone.AttributeDefinitions != nil || gone.CreationDateTime != nil {
		t.Errorf("got from DeleteTable %+v", gone)
	}
	missing("DescribeTable", "")
	s.expectError(t, "GetItem", `{"TableName":"life","Key":{"p":{"S":"a"}}}`, "ResourceNotFoundException", "Requested resource not found")
	if left := s.keysOnDisk(t); len(left) != 0 {
		t.Errorf("keys are left on disk: %q", left)
	}

	// The name can be used at once, and the new table is empty.
	fresh := readDescription(t, s.mustSend(t, "CreateTable", createP("life")))
	if fresh.TableId == made.TableId || s.describe(t, "life").ItemCount != 0 {
		t.Errorf("got from the second CreateTable %+v", fresh)
	}
	if reply := s.mustSend(t, "GetItem", `{"TableName":"life","Key":{"p":{"S":"a"}}}`); reply != "{}" {
		t.Errorf("got an item of the deleted table: %s", reply)
	}
}

// TestDeleteTableUnderWrites deletes a table during concurrent writes. Nothing of it is left or
// visible in the next table of that name.
func TestDeleteTableUnderWrites(t *testing.T) {
	s := newStore(t)
	var done atomic.Bool
	var writers sync.WaitGroup
	for w := range 4 {
		writers.Go(func() {
			for i := 0; !done.Load(); i++ {
				s.send(t, "PutItem", fmt.Sprintf(`{"TableName":"tab","Item":{"p":{"S":"%d %d"},"x":{"S":"x"}}}`, w, i%10))
			}
		})
	}
	for range 30 {
		s.mustSend(t, "CreateTable", createP("tab"))
		s.mustSend(t, "PutItem", `{"TableName":"tab","Item":{"p":{"S":"here"}}}`)
		s.mustSend(t, "DeleteTable", `{"TableName":"tab"}`)
	}
	done.Store(true)
	writers.Wait()
	if left := s.keysOnDisk(t); len(left) != 0 {
		t.Errorf("keys are left on disk: %q", left)
	}
}

// TestDeletedTable checks that a request that found a table before its deletion can't write to it.
func TestDeletedTable(t *testing.T) {
	s := openIdle(t, onDisk{Dir: t.TempDir(), NoSync: true}, time.Now)
	s.mustSend(t, "CreateTable", createP("tab"))
	found := s.tables.Load()
	s.mustSend(t, "DeleteTable", `{"TableName":"tab"}`)
	s.tables.Store(found)
	for op, body := range map[string]string{
		"PutItem":            `{"TableName":"tab","Item":{"p":{"S":"a"}}}`,
		"BatchWriteItem":     `{"RequestItems":{"tab":[{"PutRequest":{"Item":{"p":{"S":"a"}}}}]}}`,
		"TransactWriteItems": `{"TransactItems":[{"Put":{"TableName":"tab","Item":{"p":{"S":"a"}}}}]}`,
	} {
		s.expectError(t, op, body, "ResourceNotFoundException", "Requested resource not found")
	}
	if left := s.keysOnDisk(t); len(left) != 0 {
		t.Errorf("keys are left on disk: %q", left)
	}
}

// keysOnDisk lists the keys of all tables.
func (s *Store) keysOnDisk(t testing.TB) []string {
	t.Helper()
	it, err := s.db.Iter([]byte{'a'}, []byte{'z'})
	if err != nil {
		t.Fatal(err)
	}
	defer it.Close()
	var out []string
	for ok := it.First(); ok; ok = it.Next() {
		if it.Key()[0] != spaceMeta && it.Key()[0] != spaceStream {
			out = append(out, string(it.Key()))
		}
	}
	return out
}

func TestDeleteTableRefused(t *testing.T) {
	s := openIdle(t, onDisk{Dir: t.TempDir(), NoSync: true}, time.Now)
	s.mustSend(t, "CreateTable", createP("kept", `"DeletionProtectionEnabled":true`))
	const protected = "Resource cannot be deleted as it is currently protected against deletion. Disable deletion protection first."
	s.expectError(t, "DeleteTable", `{"TableName":"kept"}`, "ValidationException", protected)
	s.mustSend(t, "UpdateTable", `{"TableName":"kept","DeletionProtectionEnabled":false}`)
	s.mustSend(t, "UpdateTable", `{"TableName":"kept",`+newIndex+`}`)
	s.expectError(t, "DeleteTable", `{"TableName":"kept"}`, "ResourceInUseException",
		"Attempt to change a resource which is still in use: Cannot delete table while indexes are being created, updated, or deleted.")
	s.finishBackfill(t)
	s.mustSend(t, "DeleteTable", `{"TableName":"kept"}`)
}

func TestTableLimit(t *testing.T) {
	s := openIdle(t, onDisk{Dir: t.TempDir(), NoSync: true}, time.Now)
	full := map[string]*table{}
	for i := range maxTables {
		full[fmt.Sprint("table", i)] = &table{info: &catalog.Table{}}
	}
	s.tables.Store(&full)
	s.expectError(t, "CreateTable", createP("more"), "LimitExceededException",
		"Subscriber limit exceeded: There is a limit of 2500 tables per subscriber")
}

func TestListTables(t *testing.T) {
	s := openIdle(t, onDisk{Dir: t.TempDir(), NoSync: true}, time.Now)
	f := func(body, want string) {
		t.Helper()
		if got := s.mustSend(t, "ListTables", body); got != want {
			t.Errorf("%s: got %s; want %s", body, got, want)
		}
	}
	f(`{}`, `{"TableNames":[]}`)
	for _, name := range []string{"ccc", "aaa", "bbb", "B-b"} {
		s.mustSend(t, "CreateTable", createP(name))
	}
	f(`{}`, `{"TableNames":["B-b","aaa","bbb","ccc"]}`)
	f(`{"Limit":4}`, `{"TableNames":["B-b","aaa","bbb","ccc"]}`)
	f(`{"Limit":2}`, `{"TableNames":["B-b","aaa"],"LastEvaluatedTableName":"aaa"}`)
	f(`{"Limit":2,"ExclusiveStartTableName":"aaa"}`, `{"TableNames":["bbb","ccc"]}`)
	f(`{"Limit":1,"ExclusiveStartTableName":"aab"}`, `{"TableNames":["bbb"],"LastEvaluatedTableName":"bbb"}`)
	f(`{"ExclusiveStartTableName":"zzz"}`, `{"TableNames":[]}`)
	s.expectError(t, "ListTables", `{"Limit":101}`, "ValidationException",
		"1 validation error detected: Value '101' at 'limit' failed to satisfy constraint: Member must have value less than or equal to 100")
	for i := range 100 {
		s.mustSend(t, "CreateTable", createP(fmt.Sprint("more", i)))
	}
	var page struct {
		TableNames             []string
		LastEvaluatedTableName string
	}
	if err := json.Unmarshal([]byte(s.mustSend(t, "ListTables", `{}`)), &page); err != nil {
		t.Fatal(err)
	}
	if len(page.TableNames) != 100 || page.LastEvaluatedTableName != page.TableNames[99] || !sort.StringsAreSorted(page.TableNames) {
		t.Errorf("got a page of %d tables up to %s", len(page.TableNames), page.LastEvaluatedTableName)
	}
}

func TestUpdateTable(t *testing.T) {
	dir := t.TempDir()
	s := openIdle(t, onDisk{Dir: dir}, time.Now)
	s.mustSend(t, "CreateTable", createP("tab"))
	reply := readDescription(t, s.mustSend(t, "UpdateTable", `{"TableName":"tab","BillingMode":"PROVISIONED","ProvisionedThroughput":{"ReadCapacityUnits":3,"WriteCapacityUnits":4}}`))
	if reply.TableStatus != "UPDATING" || s.describe(t, "tab").TableStatus != "ACTIVE" {
		t.Errorf("got from UpdateTable %+v", reply)
	}
	s.expectError(t, "UpdateTable", `{"TableName":"tab","ProvisionedThroughput":{"ReadCapacityUnits":3}}`, "ValidationException",
		"1 validation error detected: Value null at 'provisionedThroughput.writeCapacityUnits' failed to satisfy constraint: Member must not be null")
	s.expectError(t, "UpdateTable", `{"TableName":"tab","BillingMode":"PROVISIONED"}`, "ValidationException",
		"One or more parameter values were invalid: ProvisionedThroughput must be specified when BillingMode is PROVISIONED")
	s.expectError(t, "UpdateTable", `{"TableName":"tab","TableClass":"Standard"}`, "ValidationException",
		"Invalid table-class parameter provided. Please try again with a valid table-class value: [STANDARD, STANDARD_INFREQUENT_ACCESS].")
	s.Close()
	s = openIdle(t, onDisk{Dir: dir}, time.Now)
	if got := s.mustSend(t, "DescribeTable", `{"TableName":"tab"}`); !strings.Contains(got, `"ReadCapacityUnits":3,"WriteCapacityUnits":4`) ||
		!strings.Contains(got, `"BillingModeSummary":{"BillingMode":"PROVISIONED","LastUpdateToPayPerRequestDateTime":`) {
		t.Errorf("got after a restart: %s", got)
	}
}

func TestTagOperations(t *testing.T) {
	s := openIdle(t, onDisk{Dir: t.TempDir(), NoSync: true}, time.Now)
	s.mustSend(t, "CreateTable", createP("tab", `"Tags":[{"Key":"z","Value":"1"}]`))
	const arn = "arn:aws:dynamodb:us-east-1:000000000000:table/"
	list := func(want string) {
		t.Helper()
		var all []string
		for token := ""; ; {
			reply := s.mustSend(t, "ListTagsOfResource", `{"ResourceArn":"`+arn+`tab"`+token+`}`)
			tags, next, more := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(reply, `{"Tags":[`), "}"), "]")
			all = append(all, tags)
			if !more || next == "" {
				break
			}
			token = next
		}
		if got := `{"Tags":[` + strings.Join(all, ",") + `]}`; got != want {
			t.Errorf("got the tags %s; want %s", got, want)
		}
	}
	list(`{"Tags":[{"Key":"z","Value":"1"}]}`)
	if got := s.mustSend(t, "TagResource", `{"ResourceArn":"`+arn+`tab","Tags":[{"Key":"a","Value":""},{"Key":"z","Value":"2"}]}`); got != "" {
		t.Errorf("got from TagResource %q", got)
	}
	list(`{"Tags":[{"Key":"a","Value":""},{"Key":"z","Value":"2"}]}`)
	if got := s.mustSend(t, "UntagResource", `{"ResourceArn":"`+arn+`tab","TagKeys":["a","none"]}`); got != "" {
		t.Errorf("got from UntagResource %q", got)
	}
	list(`{"Tags":[{"Key":"z","Value":"2"}]}`)
	var all, want []string
	for i := range 49 {
		tag := fmt.Sprintf(`{"Key":"a%02d","Value":"v"}`, i)
		all, want = append(all, tag), append(want, tag)
	}
	s.mustSend(t, "TagResource", `{"ResourceArn":"`+arn+`tab","Tags":[`+strings.Join(all, ",")+`]}`)
	list(`{"Tags":[` + strings.Join(append(want, `{"Key":"z","Value":"2"}`), ",") + `]}`)
	s.expectError(t, "TagResource", `{"ResourceArn":"`+arn+`tab","Tags":[{"Key":"51","Value":""}]}`, "ValidationException",
		"Number of Tags exceed the current limit for the provided ResourceArn")

	for op, more := range map[string]string{"TagResource": `,"Tags":[{"Key":"k","Value":"v"}]`, "UntagResource": `,"TagKeys":["k"]`, "ListTagsOfResource": ""} {
		s.expectError(t, op, `{"ResourceArn":"`+arn+`tabx"`+more+`}`, "ResourceNotFoundException",
			"Requested resource not found: ResourcArn: "+arn+"tabx not found")
		s.expectError(t, op, `{"ResourceArn":"`+arn+`tab/index/i"`+more+`}`, "ValidationException",
			"Invalid TableArn: Invalid ResourceArn provided as input "+arn+"tab/index/i")
		s.expectError(t, op, `{"ResourceArn":"tab"`+more+`}`, "ValidationException",
			"One or more parameter values were invalid: ARNs must start with 'arn:': tab")
		s.expectError(t, op, strings.Replace(`{`+more+`}`, ",", "", 1), "ValidationException",
			"1 validation error detected: Value null at 'resourceArn' failed to satisfy constraint: Member must not be null")
	}
	s.expectError(t, "CreateTable", createP("bad", `"Tags":[{"Key":"!","Value":""}]`), "ValidationException", "The Tag Key provided is invalid, Key: !")
	s.expectError(t, "DescribeTable", `{"TableName":"bad"}`, "ResourceNotFoundException", "Requested resource not found: Table: bad not found")
}

func TestBackups(t *testing.T) {
	s := openIdle(t, onDisk{Dir: t.TempDir(), NoSync: true}, time.Now)
	s.mustSend(t, "CreateTable", createP("tab"))
	const off = `{"ContinuousBackupsDescription":{"ContinuousBackupsStatus":"ENABLED","PointInTimeRecoveryDescription":{"PointInTimeRecoveryStatus":"DISABLED"}}}`
	f := func(op, body, want string) {
		t.Helper()
		if got := s.mustSend(t, op, body); got != want {
			t.Errorf("%s %s: got %s; want %s", op, body, got, want)
		}
	}
	f("DescribeContinuousBackups", `{"TableName":"tab"}`, off)
	f("DescribeContinuousBackups", `{"TableName":"arn:aws:dynamodb:us-east-1:000000000000:table/tab"}`, off)
	f("UpdateContinuousBackups", `{"TableName":"tab","PointInTimeRecoverySpecification":{"PointInTimeRecoveryEnabled":false}}`, off)
	s.expectError(t, "UpdateContinuousBackups", `{"TableName":"tab","PointInTimeRecoverySpecification":{"PointInTimeRecoveryEnabled":true}}`,
		"ContinuousBackupsUnavailableException", "Backups have not yet been enabled for this table.")
	s.expectError(t, "UpdateContinuousBackups", `{"TableName":"tab","PointInTimeRecoverySpecification":{"PointInTimeRecoveryEnabled":false,"RecoveryPeriodInDays":3}}`,
		"ValidationException", "Invalid Request: Cannot specify RecoveryPeriodInDays when disabling point-in-time recovery.")
	s.expectError(t, "DescribeContinuousBackups", `{"TableName":"none"}`, "TableNotFoundException", "Table not found: none")
	s.expectError(t, "UpdateContinuousBackups", `{"TableName":"none","PointInTimeRecoverySpecification":{"PointInTimeRecoveryEnabled":true}}`,
		"TableNotFoundException", "Table not found: none")

}

// TestUnsupported checks that operations without a handler are unknown, not ignored. Operations
// with an error of their own are in testdata/sessions/unsupported.txt.
func TestUnsupported(t *testing.T) {
	s := openIdle(t, onDisk{Dir: t.TempDir(), NoSync: true}, time.Now)
	for _, op := range wire.Operations {
		status, reply := s.send(t, op.Name, `{}`)
		if handlers[op.Name] == nil && (status != 400 || reply != `{"__type":"com.amazon.coral.service#UnknownOperationException"}`) {
			t.Errorf("%s: got %d %s", op.Name, status, reply)
		}
	}
	for _, name := range []string{"StartBulkPutItems", "DescribeBulkOperation", "ListBulkOperations", "CancelBulkOperation"} {
		if handlers[name] != nil {
			t.Errorf("%s has a handler, but isn't an operation", name)
		}
	}
}

func TestLimits(t *testing.T) {
	s := openIdle(t, onDisk{Dir: t.TempDir(), NoSync: true, Config: Config{Region: "eu-west-1"}}, time.Now)
	const limits = `{"AccountMaxReadCapacityUnits":80000,"AccountMaxWriteCapacityUnits":80000,"TableMaxReadCapacityUnits":40000,"TableMaxWriteCapacityUnits":40000}`
	if got := s.mustSend(t, "DescribeLimits", `{}`); got != limits {
		t.Errorf("got the limits %s", got)
	}
	if got := s.mustSend(t, "DescribeEndpoints", `{}`); got != `{"Endpoints":[{"Address":"dynamodb.eu-west-1.amazonaws.com","CachePeriodInMinutes":1440}]}` {
		t.Errorf("got the endpoints %s", got)
	}
	resp, err := s.Do(&Request{Method: "POST", Path: "/", Body: []byte(`{}`),
		Target: []byte("DynamoDB_20120810.DescribeEndpoints"), Host: []byte("127.0.0.1:8000")})
	if err != nil || string(resp.Body) != `{"Endpoints":[{"Address":"127.0.0.1:8000","CachePeriodInMinutes":1440}]}` {
		t.Errorf("got the endpoints %s, %v", resp.Body, err)
	}
}
