package catalog

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestUpdateRefusesWithoutTable(t *testing.T) {
	f := func(message string, parts ...string) {
		t.Helper()
		body := request(parts...)
		_, err := ReadUpdate([]byte(body), here)
		expectError(t, body, err, "ValidationException", message)
	}
	const one = "One or more parameter values were invalid: "
	const nothing = "At least one of ProvisionedThroughput, BillingMode, UpdateStreamEnabled, GlobalSecondaryIndexUpdates, SSESpecification, " +
		"ReplicaUpdates, MultiAccountReplicaReady, ReplicaTransitRoleArn, MultiRegionConsistency, DeletionProtectionEnabled, " +
		"OnDemandThroughput, WarmThroughput or TableClass is required"
	updates := func(all ...string) string { return `"GlobalSecondaryIndexUpdates":[` + strings.Join(all, ",") + `]` }
	remove := func(name string) string { return fmt.Sprintf(`{"Delete":{"IndexName":%q}}`, name) }
	added := `{"Create":` + index("abc", "b:HASH", all) + `}`
	protect, class, sse := `"DeletionProtectionEnabled":true`, `"TableClass":"STANDARD"`, `"SSESpecification":{"Enabled":true}`
	warm, demand := `"WarmThroughput":{"ReadUnitsPerSecond":20000}`, `"OnDemandThroughput":{"MaxReadRequestUnits":10}`
	stream := `"StreamSpecification":{"StreamEnabled":false}`

	f(nothing)
	f(nothing, `"GlobalSecondaryIndexUpdates":[]`)
	f(nothing, defs("a:S"))
	f(one+"List of GlobalSecondaryIndexUpdates is empty", `"GlobalSecondaryIndexUpdates":[]`, protect)
	f("Given value 1000000000001 for ReadCapacityUnits is out of bounds",
		`"ProvisionedThroughput":{"WriteCapacityUnits":1000000000001,"ReadCapacityUnits":1000000000001}`)
	f("Given value 1000000000001 for WriteCapacityUnits is out of bounds",
		`"ProvisionedThroughput":{"WriteCapacityUnits":1000000000001,"ReadCapacityUnits":1000000000000}`)

	const must = one + "One of GlobalSecondaryIndexUpdate.Update, GlobalSecondaryIndexUpdate.Create, GlobalSecondaryIndexUpdate.Delete must not be null"
	f(must, updates("{}"))
	f(must, updates("{}", "{}", "{}", "{}", "{}", "{}"))
	f(one+"Only one global secondary index action is allowed per GlobalSecondaryIndexUpdate object",
		updates(`{"Create":`+index("abc", "b:HASH", all)+`,"Delete":{"IndexName":"xyz"}}`))
	f(one+"Only one global secondary index update per index is allowed simultaneously. Index: abc", updates(remove("abc"), remove("abc")))
	f(one+"Only one global secondary index update per index is allowed simultaneously. Index: abc", updates(remove("abc"), added))

	f("Cannot add or delete the local region through ReplicaUpdates. Use CreateTable, DeleteTable, or UpdateTable as required.",
		`"ReplicaUpdates":[{"Create":{"RegionName":"us-east-1"}}]`)
	f("Region eu-west-1 is not supported. The latest version of global tables are only supported in the following regions: [us-east-1]",
		`"ReplicaUpdates":[{"Create":{"RegionName":"eu-west-1"}}]`)

	f(one+"If stream is being enabled then UpdateViewType is required", `"StreamSpecification":{"StreamEnabled":true}`)
	f(one+"If stream is being disabled, then UpdateViewType must not be specified",
		`"StreamSpecification":{"StreamEnabled":false,"StreamViewType":"KEYS_ONLY"}`)
	f(one+"SSEType AES256 is not supported", `"SSESpecification":{"Enabled":true,"SSEType":"AES256"}`)
	f("Invalid table-class parameter provided. Please try again with a valid table-class value: [STANDARD, STANDARD_INFREQUENT_ACCESS].",
		`"TableClass":"junk"`)

	// Changes that can't be combined with others; the first of these is reported.
	f(one+"Server-Side Encryption modification must be the only operation in the request", sse, class, protect, warm)
	f(one+"Server-Side Encryption modification must be the only operation in the request", sse, stream)
	f(one+"TableClass modification must be the only operation in the request", class, protect)
	f(one+"TableClass modification must be the only operation in the request", class, perRequest)
	f(one+"DeletionProtection modification must be the only operation in the request", protect, warm)
	f(one+"DeletionProtection modification must be the only operation in the request", protect, updates(added))
	f(one+"WarmThroughput must be the only operation in the request", warm, stream)
	f(one+"Create global secondary index cannot be specified when updating WarmThroughput", warm, updates(added))
	f(one+"OnDemandThroughput can only be combined with BillingMode in an UpdateTable request", demand, stream)
	f(one+"You cannot modify stream status while updating table IOPS", stream, oneUnit)
	f(one+"You cannot modify stream status while updating table IOPS", stream, oneUnit, `"BillingMode":"PROVISIONED"`)
	f(one+"You cannot create or delete index while updating table IOPS", oneUnit, updates(remove("abc")))
	f(one+"You cannot create or delete index while changing stream status", stream, updates(remove("abc")))
	f(one+"Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is PAY_PER_REQUEST", perRequest, oneUnit)
	f(one+"ProvisionedThroughput must be specified when BillingMode is PROVISIONED", `"BillingMode":"PROVISIONED"`)
}

// Tables to update.
var (
	provisioned = request(defs("p:S c:S x:S l:S"), keys("p:HASH c:RANGE"), `"ProvisionedThroughput":{"ReadCapacityUnits":5,"WriteCapacityUnits":6}`,
		lsis(index("local", "p:HASH l:RANGE", all)), gsis(index("byx", "x:HASH", all, oneUnit)))
	demanded = request(defs("p:S x:S y:S"), keys("p:HASH"), perRequest, gsis(index("byx", "x:HASH", all), index("byy", "y:HASH", all)))
)

// alter applies a request to a table an hour after its creation.
func alter(t *testing.T, table *Table, body string) (Change, error) {
	t.Helper()
	r, err := ReadUpdate([]byte(body), here)
	if err != nil {
		return Change{}, err
	}
	return r.Apply(table, noon.Add(time.Hour), Streams{Latest: table.LatestStream})
}

func mustAlter(t *testing.T, table *Table, body string) Change {
	t.Helper()
	c, err := alter(t, table, body)
	if err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	return c
}

func TestUpdateRefuses(t *testing.T) {
	f := func(table, typ, message string, parts ...string) {
		t.Helper()
		body := request(parts...)
		_, err := alter(t, create(t, table), body)
		expectError(t, body, err, typ, message)
	}
	const one = "One or more parameter values were invalid: "
	const invalid, limit, missing = "ValidationException", "LimitExceededException", "ResourceNotFoundException"
	updates := func(all ...string) string { return `"GlobalSecondaryIndexUpdates":[` + strings.Join(all, ",") + `]` }
	add := func(name, schema string, more ...string) string {
		return `{"Create":` + index(name, schema, append(more, all)...) + `}`
	}
	raise := func(name string, units string) string {
		return fmt.Sprintf(`{"Update":{"IndexName":%q,"ProvisionedThroughput":{"ReadCapacityUnits":%s,"WriteCapacityUnits":1}}}`, name, units)
	}
	remove := func(name string) string { return fmt.Sprintf(`{"Delete":{"IndexName":%q}}`, name) }

	f(provisioned, invalid, "The provisioned throughput for the table will not change. The requested value equals the current value. "+
		"Current ReadCapacityUnits provisioned for the table: 5. Requested ReadCapacityUnits: 5. "+
		"Current WriteCapacityUnits provisioned for the table: 6. Requested WriteCapacityUnits: 6. "+
		"Refer to the Amazon DynamoDB Developer Guide for current limits and how to request higher limits.",
		`"ProvisionedThroughput":{"ReadCapacityUnits":5,"WriteCapacityUnits":6}`)
	f(provisioned, invalid, "The provisioned throughput for the index byx will not change. The requested value equals the current value. "+
		"Current ReadCapacityUnits provisioned for the index: 1. Requested ReadCapacityUnits: 1. "+
		"Current WriteCapacityUnits provisioned for the index: 1. Requested WriteCapacityUnits: 1. "+
		"Refer to the Amazon DynamoDB Developer Guide for current limits and how to request higher limits.", updates(raise("byx", "1")))
	f(demanded, invalid, one+"Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is PAY_PER_REQUEST", oneUnit)
	f(demanded, invalid, one+"ProvisionedThroughput must be specified for index: byx,byy", `"BillingMode":"PROVISIONED"`, oneUnit)
	f(demanded, invalid, one+"ProvisionedThroughput must be specified for index: byy", `"BillingMode":"PROVISIONED"`, oneUnit, updates(raise("byx", "2")))
	f(provisioned, invalid, one+"MaxReadRequestUnits for OnDemandThroughput cannot be specified when table BillingMode is PROVISIONED.",
		`"OnDemandThroughput":{"MaxReadRequestUnits":5}`)
	f(demanded, invalid, one+"Requested MaxReadRequestUnits for OnDemandThroughput for table is outside of valid range",
		`"OnDemandThroughput":{"MaxReadRequestUnits":-2}`)

	const online = "Subscriber limit exceeded: Only 1 online index can be created or deleted simultaneously per table"
	f(demanded, limit, online, defs("x:N"), updates(add("ind1", "x:HASH"), add("ind2", "x:HASH")))
	f(demanded, limit, online, updates(remove("ind1"), remove("ind2")))
	f(demanded, limit, online, defs("x:N"), updates(add("ind1", "x:HASH"), remove("ind2")))

	f(demanded, invalid, one+"AttributeDefinitions is not specified for index: gsi", updates(add("gsi", "x:HASH")))
	f(demanded, invalid, one+"Some index key attributes are not defined in AttributeDefinitions. Keys: [x, z], AttributeDefinitions: [z]",
		defs("z:S"), updates(add("gsi", "x:HASH z:RANGE")))
	f(demanded, invalid, "Invalid KeySchema: The first KeySchemaElement is not a HASH key type", defs("z:S"), updates(add("gsi", "z:RANGE")))
	f(demanded, invalid, one+"Unknown ProjectionType: null", defs("z:S"), updates(`{"Create":`+index("gsi", "z:HASH", `"Projection":{}`)+`}`))
	f(demanded, invalid, "Attempting to create an index which already exists", defs("z:S"), updates(add("byx", "z:HASH")))
	f(provisioned, invalid, "Attempting to create an index which already exists", defs("z:S"), updates(add("local", "z:HASH", oneUnit)))
	f(demanded, invalid, one+"Attributes cannot be redefined. Please check that your attribute has the same type as previously defined. "+
		"Existing schema: Schema:[SchemaElement: key{x:S:HASH}] New schema: Schema:[SchemaElement: key{x:N:HASH}]", defs("x:N"), updates(add("gsi", "x:HASH")))
	f(provisioned, invalid, one+"Attributes cannot be redefined. Please check that your attribute has the same type as previously defined. "+
		"Existing schema: Schema:[SchemaElement: key{p:S:HASH, c:S:RANGE}] New schema: Schema:[SchemaElement: key{z:S:HASH, c:B:RANGE}]",
		defs("z:S c:B"), updates(add("gsi", "z:HASH c:RANGE", oneUnit)))
	f(provisioned, invalid, one+"Both ReadCapacityUnits and WriteCapacityUnits must be specified for index: gsi", defs("z:S"), updates(add("gsi", "z:HASH")))
	f(demanded, invalid, one+"Neither ReadCapacityUnits nor WriteCapacityUnits can be specified for index: gsi when BillingMode is PAY_PER_REQUEST",
		defs("z:S"), updates(add("gsi", "z:HASH", oneUnit)))

	f(demanded, missing, "Requested resource not found: Index gone for table tab", updates(remove("gone")))
	f(demanded, missing, "Requested resource not found: Index gone for table tab", updates(raise("gone", "5")))
	f(provisioned, invalid, "Cannot delete an index that is not a GlobalSecondaryIndex: local", updates(remove("local")))
	f(provisioned, invalid, "Cannot update an index that is not a GlobalSecondaryIndex: local", updates(raise("local", "5")))
	f(demanded, invalid, one+"The only Updates for index: byx when TableThroughputMode is PAY_PER_REQUEST can be to OnDemandThroughput, WarmThroughput",
		updates(raise("byx", "5")))
	f(provisioned, invalid, "Given value 1000000000001 for ReadCapacityUnits is out of bounds for index byx", updates(raise("byx", "1000000000001")))
	f(demanded, invalid, one+"Requested WriteUnitsPerSecond for WarmThroughput for index byx is lower than current WarmThroughput, "+
		"decreasing WarmThroughput is not supported", updates(`{"Update":{"IndexName":"byx","WarmThroughput":{"WriteUnitsPerSecond":100}}}`))
	f(demanded, invalid, one+"Requested ReadUnitsPerSecond for WarmThroughput for table is lower than current WarmThroughput, "+
		"decreasing WarmThroughput is not supported", `"WarmThroughput":{"ReadUnitsPerSecond":100,"WriteUnitsPerSecond":100}`)

	f(demanded, invalid, "Table has no stream to disable: TableName: tab", `"StreamSpecification":{"StreamEnabled":false}`)
	streamed := strings.TrimSuffix(demanded, "}") + `,"StreamSpecification":{"StreamEnabled":true,"StreamViewType":"KEYS_ONLY"}}`
	f(streamed, invalid, "Table already has an enabled stream: TableName: tab", `"StreamSpecification":{"StreamEnabled":true,"StreamViewType":"KEYS_ONLY"}`)
	f(streamed, invalid, "Table already has an enabled stream: TableName: tab", `"StreamSpecification":{"StreamEnabled":true,"StreamViewType":"OLD_IMAGE"}`)
	f(demanded, invalid, one+"Table is already encrypted by default", `"SSESpecification":{}`)
	f(demanded, invalid, one+"Table is already encrypted by default", `"SSESpecification":{"Enabled":false}`)
	f(strings.TrimSuffix(demanded, "}")+`,"SSESpecification":{"SSEType":"KMS","KMSMasterKeyId":"arn:k"}}`, invalid,
		one+"Table is already encrypted with given KMSMasterKeyId. Use KMSMasterKeyId parameter if you want to change Master Key",
		`"SSESpecification":{"Enabled":true,"SSEType":"KMS","KMSMasterKeyId":"arn:k"}`)
}

func TestUpdateIndexLimit(t *testing.T) {
	var twenty []string
	for i := range 20 {
		twenty = append(twenty, index(fmt.Sprint("abc", i), "p:HASH", all))
	}
	table := create(t, request(defs("p:S"), keys("p:HASH"), perRequest, gsis(twenty...)))
	_, err := alter(t, table, request(defs("z:S"), `"GlobalSecondaryIndexUpdates":[{"Create":`+index("more", "z:HASH", all)+`}]`))
	expectError(t, "a 21st index", err, "LimitExceededException",
		"Subscriber limit exceeded: Number of global secondary indexes exceeds per-table limit of 20")
}

// TestUpdateNonKeys counts the projections of the table's indexes together with the new one's.
func TestUpdateNonKeys(t *testing.T) {
	include := func(n int) string {
		var names []string
		for i := range n {
			names = append(names, fmt.Sprintf(`"n%d"`, i))
		}
		return `"Projection":{"ProjectionType":"INCLUDE","NonKeyAttributes":[` + strings.Join(names, ",") + `]}`
	}
	table := create(t, request(defs("p:S"), keys("p:HASH"), perRequest, gsis(index("abc", "p:HASH", include(20)), index("def", "p:HASH", include(61)))))
	add := func(n int) string {
		return request(defs("p:S"), `"GlobalSecondaryIndexUpdates":[{"Create":`+index("more", "p:HASH", include(n))+`}]`)
	}
	_, err := alter(t, table, add(20))
	expectError(t, "101 attributes", err, "ValidationException",
		"One or more parameter values were invalid: Number of NonKeyAttributes over all indexes exceeds per-table limit of 100")
	mustAlter(t, table, add(19))
}

// TestOneIndexAtATime checks that a second index can be added only when the first one is filled,
// and that the first one can be deleted before.
func TestOneIndexAtATime(t *testing.T) {
	add := func(name string) string {
		return request(defs("z:S"), `"GlobalSecondaryIndexUpdates":[{"Create":`+index(name, "z:HASH", all)+`}]`)
	}
	remove := func(name string) string {
		return request(fmt.Sprintf(`"GlobalSecondaryIndexUpdates":[{"Delete":{"IndexName":%q}}]`, name))
	}
	c := mustAlter(t, create(t, demanded), add("one"))
	if c.Created == nil || c.Created.ID != 3 || !c.Created.Backfilling || c.Table.LastIndex != 3 {
		t.Fatalf("got created %+v", c.Created)
	}
	const busy = "Subscriber limit exceeded: Only 1 online index can be created or deleted simultaneously per table"
	_, err := alter(t, c.Table, add("two"))
	expectError(t, "another index", err, "LimitExceededException", busy)
	_, err = alter(t, c.Table, remove("byx"))
	expectError(t, "another index deleted", err, "LimitExceededException", busy)
	if d := mustAlter(t, c.Table, remove("one")); d.Deleted == nil || d.Deleted.ID != 3 || d.Table.Index("one") != nil {
		t.Errorf("got deleted %+v", d.Deleted)
	}
	d := mustAlter(t, c.Table.Filled(3), add("two"))
	if d.Created.ID != 4 || d.Table.Index("one").Backfilling || d.Table.Index("one").Status != Active {
		t.Errorf("got created %+v in addition to %+v", d.Created, d.Table.Index("one"))
	}
	if !c.Table.Index("one").Backfilling {
		t.Error("a change modified the previous version of the table")
	}
}

func TestUpdateThroughput(t *testing.T) {
	table := create(t, provisioned)
	later := noon.Add(time.Hour)
	up := mustAlter(t, table, `{"ProvisionedThroughput":{"ReadCapacityUnits":9,"WriteCapacityUnits":6}}`)
	c, reply := up.Table.Capacity, up.Reply.Capacity
	if c.Provisioned != (Throughput{9, 6}) || reply.Provisioned != (Throughput{5, 6}) || up.Reply.Status != Updating || up.Table.Status != Active {
		t.Errorf("provisioned %+v, reply %+v", c, reply)
	}
	if !reply.Increased.Equal(later) || !c.Increased.After(later) || c.Decreased != nil || reply.Decreased != nil {
		t.Errorf("increased %v, reply %v", c.Increased, reply.Increased)
	}
	if c.Warm != (Throughput{9, 6}) {
		t.Errorf("warm for %+v", c.Warm)
	}
	down := mustAlter(t, up.Table, `{"ProvisionedThroughput":{"ReadCapacityUnits":1,"WriteCapacityUnits":7}}`)
	c, reply = down.Table.Capacity, down.Reply.Capacity
	if c.decreases(later) != 1 || reply.decreases(later) != 0 || c.decreases(later.Add(24*time.Hour)) != 0 {
		t.Errorf("%d decreases, reply %d", c.Decreases, reply.Decreases)
	}
	if !reply.Decreased.Equal(later) || !c.Decreased.After(later) || c.Warm != (Throughput{9, 7}) {
		t.Errorf("decreased %v, reply %v, warm throughput %+v", c.Decreased, reply.Decreased, c.Warm)
	}
	if c := c.provision(Throughput{1, 6}, later.Add(time.Hour)); c.Decreases != 2 {
		t.Errorf("%d decreases on one day", c.Decreases)
	}
	if c := c.provision(Throughput{1, 6}, later.Add(24*time.Hour)); c.Decreases != 1 {
		t.Errorf("%d decreases on the next day", c.Decreases)
	}
	if table.Capacity.Provisioned != (Throughput{5, 6}) {
		t.Error("a change modified the previous version of the table")
	}

	up = mustAlter(t, table, `{"GlobalSecondaryIndexUpdates":[{"Update":{"IndexName":"byx","ProvisionedThroughput":{"ReadCapacityUnits":3,"WriteCapacityUnits":1}}}]}`)
	x, y := up.Table.Index("byx"), up.Reply.Index("byx")
	if x.Capacity.Provisioned.Read != 3 || y.Capacity.Provisioned.Read != 1 || x.Status != Active || y.Status != Updating || up.Reply.Status != Active {
		t.Errorf("index %+v, reply %+v", x, y)
	}
}

func TestUpdateBilling(t *testing.T) {
	table := create(t, provisioned)
	c := mustAlter(t, table, `{"BillingMode":"PAY_PER_REQUEST","OnDemandThroughput":{"MaxReadRequestUnits":40}}`)
	if c.Table.Billing != PayPerRequest || c.Table.Capacity.Provisioned != (Throughput{}) || c.Table.Capacity.OnDemand != (Throughput{40, 0}) ||
		c.Table.Index("byx").Capacity.Provisioned != (Throughput{}) || c.Table.PerRequestSince == nil {
		t.Errorf("got the billing mode %s with %+v", c.Table.Billing, c.Table.Capacity)
	}
	if c.Table.Capacity.Warm != (Throughput{12000, 4000}) || c.Reply.Status != Updating || c.Reply.PerRequestSince != nil || c.Reply.Index("byx").Status != Updating {
		t.Errorf("warm throughput %+v, reply %+v", c.Table.Capacity.Warm, c.Reply)
	}
	lifted := mustAlter(t, c.Table, `{"OnDemandThroughput":{"MaxReadRequestUnits":-1,"MaxWriteRequestUnits":7}}`)
	if lifted.Table.Capacity.OnDemand != (Throughput{0, 7}) || lifted.Reply.Capacity.OnDemand != (Throughput{-1, 7}) || lifted.Reply.Status != Active {
		t.Errorf("got the limits %+v", lifted.Table.Capacity.OnDemand)
	}
	kept := mustAlter(t, c.Table, `{"OnDemandThroughput":{"MaxWriteRequestUnits":7}}`)
	if kept.Table.Capacity.OnDemand != (Throughput{40, 7}) {
		t.Errorf("got the limits %+v", kept.Table.Capacity.OnDemand)
	}
	same := mustAlter(t, c.Table, `{"BillingMode":"PAY_PER_REQUEST"}`)
	if same.Reply.Status != Updating || !same.Table.PerRequestSince.Equal(*c.Table.PerRequestSince) {
		t.Errorf("got %+v for the same billing mode", same.Table)
	}
	back := mustAlter(t, c.Table, `{"BillingMode":"PROVISIONED","ProvisionedThroughput":{"ReadCapacityUnits":2,"WriteCapacityUnits":2},
		"GlobalSecondaryIndexUpdates":[{"Update":{"IndexName":"byx","ProvisionedThroughput":{"ReadCapacityUnits":3,"WriteCapacityUnits":3}}}]}`)
	if back.Table.Billing != Provisioned || back.Table.Capacity.Provisioned != (Throughput{2, 2}) || back.Table.Capacity.OnDemand != (Throughput{}) ||
		back.Table.Index("byx").Capacity.Provisioned != (Throughput{3, 3}) || back.Table.PerRequestSince == nil {
		t.Errorf("got the billing mode %s with %+v", back.Table.Billing, back.Table.Capacity)
	}
	if got := string(describer().Append(nil, back.Table)); !strings.Contains(got, `"BillingModeSummary":{"BillingMode":"PROVISIONED","LastUpdateToPayPerRequestDateTime":`) {
		t.Errorf("got the description %s", got)
	}
}

func TestUpdateFeatures(t *testing.T) {
	table := create(t, demanded)
	c := mustAlter(t, table, `{"DeletionProtectionEnabled":true}`)
	if !c.Table.Protected || !c.Reply.Protected || c.Reply.Status != Active || table.Protected {
		t.Errorf("got the deletion protection %+v", c)
	}
	if c = mustAlter(t, table, `{"TableClass":"STANDARD"}`); c.Table.Class != "" || c.Reply.Status != Updating {
		t.Errorf("got the class %q", c.Table.Class)
	}
	c = mustAlter(t, table, `{"TableClass":"STANDARD_INFREQUENT_ACCESS"}`)
	if c.Table.Class != "STANDARD_INFREQUENT_ACCESS" || c.Table.ClassChanged == nil || c.Reply.Class != "" {
		t.Errorf("got the class %q, reply %q", c.Table.Class, c.Reply.Class)
	}
	if c = mustAlter(t, c.Table, `{"TableClass":"STANDARD"}`); c.Table.Class != "STANDARD" {
		t.Errorf("got the class %q", c.Table.Class)
	}
	c = mustAlter(t, table, `{"SSESpecification":{"SSEType":"KMS","KMSMasterKeyId":"alias/mine"}}`)
	if c.Table.Encryption == nil || c.Table.Encryption.Key != "arn:aws:kms:us-east-1:000000000000:alias/mine" {
		t.Errorf("got the encryption %+v", c.Table.Encryption)
	}
	if c = mustAlter(t, c.Table, `{"SSESpecification":{"Enabled":false}}`); c.Table.Encryption != nil {
		t.Errorf("got the encryption %+v", c.Table.Encryption)
	}
	c = mustAlter(t, table, `{"WarmThroughput":{"ReadUnitsPerSecond":12240}}`)
	if c.Table.Capacity.Warm != (Throughput{12240, 4000}) || c.Reply.Capacity.Warm != (Throughput{12000, 4000}) {
		t.Errorf("warm throughput %+v, reply %+v", c.Table.Capacity.Warm, c.Reply.Capacity.Warm)
	}
	c = mustAlter(t, table, `{"GlobalSecondaryIndexUpdates":[{"Update":{"IndexName":"byx","OnDemandThroughput":{"MaxReadRequestUnits":8},"WarmThroughput":{"ReadUnitsPerSecond":13000}}}]}`)
	if x := c.Table.Index("byx").Capacity; x.OnDemand != (Throughput{8, 0}) || x.Warm != (Throughput{13000, 4000}) {
		t.Errorf("the index has the capacity %+v", x)
	}
}

func TestUpdateStream(t *testing.T) {
	on := `{"StreamSpecification":{"StreamEnabled":true,"StreamViewType":"NEW_IMAGE"},"BillingMode":"PAY_PER_REQUEST"}`
	off := `{"StreamSpecification":{"StreamEnabled":false}}`
	first := mustAlter(t, create(t, demanded), on)
	if first.Table.Stream.View != ViewNew || first.Reply.Stream == nil || first.Reply.Status != Updating {
		t.Fatalf("got the stream %+v", first.Table.Stream)
	}
	closed := mustAlter(t, first.Table, off)
	if closed.Table.Stream != nil || closed.Reply.Stream != nil || closed.Table.LatestStream != first.Table.LatestStream {
		t.Errorf("got the stream %+v, latest %q", closed.Table.Stream, closed.Table.LatestStream)
	}
	// A stream within the same millisecond still gets a label of its own.
	second := mustAlter(t, closed.Table, on)
	if a, b := first.Table.Stream, second.Table.Stream; b.Label <= a.Label || b.Shards[0].ID <= a.Shards[0].ID {
		t.Errorf("got the streams %q %q, then %q %q", a.Label, a.Shards[0].ID, b.Label, b.Shards[0].ID)
	}
}
