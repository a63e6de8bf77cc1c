package catalog

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/dynamo/value"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

var (
	here = Place{Region: "us-east-1"}
	noon = time.Date(2026, 11, 21, 12, 0, 0, 123e6, time.UTC)
)

// expectError checks that err is an error with a type and a message.
func expectError(t *testing.T, what string, err error, typ, message string) {
	t.Helper()
	var e *wire.Error
	if !errors.As(err, &e) || e.Type != typ || e.Message != message {
		t.Errorf("%s\ngot  %v\nwant %s: %s", what, err, typ, message)
	}
}

// create returns a table called tab, created by a request.
func create(t *testing.T, body string) *Table {
	t.Helper()
	table, err := Create("tab", []byte(body), here, noon, Streams{})
	if err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	table.ID, table.UUID = 1, "8a3f4b0e-6a0c-4b6e-9d55-2b2f8a1f0c11"
	return table
}

// Parts of requests.
const (
	perRequest = `"BillingMode":"PAY_PER_REQUEST"`
	oneUnit    = `"ProvisionedThroughput":{"ReadCapacityUnits":1,"WriteCapacityUnits":1}`
	all        = `"Projection":{"ProjectionType":"ALL"}`
)

// defs returns the AttributeDefinitions of "a:S b:N".
func defs(list string) string {
	var out []string
	for _, d := range strings.Fields(list) {
		name, typ, _ := strings.Cut(d, ":")
		out = append(out, fmt.Sprintf(`{"AttributeName":%q,"AttributeType":%q}`, name, typ))
	}
	return `"AttributeDefinitions":[` + strings.Join(out, ",") + `]`
}

// keys returns the KeySchema of "a:HASH b:RANGE".
func keys(list string) string {
	var out []string
	for _, d := range strings.Fields(list) {
		name, typ, _ := strings.Cut(d, ":")
		out = append(out, fmt.Sprintf(`{"AttributeName":%q,"KeyType":%q}`, name, typ))
	}
	return `"KeySchema":[` + strings.Join(out, ",") + `]`
}

// index returns an index.
func index(name, schema string, more ...string) string {
	return `{` + strings.Join(append([]string{fmt.Sprintf(`"IndexName":%q`, name), keys(schema)}, more...), ",") + `}`
}

func gsis(all ...string) string { return `"GlobalSecondaryIndexes":[` + strings.Join(all, ",") + `]` }
func lsis(all ...string) string { return `"LocalSecondaryIndexes":[` + strings.Join(all, ",") + `]` }

func request(parts ...string) string { return "{" + strings.Join(parts, ",") + "}" }

// seeInitial is the reference in messages about new tables billed per request.
const seeInitial = "See: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/on-demand-capacity-mode.html#on-demand-capacity-mode-initial"

func TestCreateRefuses(t *testing.T) {
	f := func(message string, parts ...string) {
		t.Helper()
		body := request(parts...)
		_, err := Create("tab", []byte(body), here, noon, Streams{})
		expectError(t, body, err, "ValidationException", message)
	}
	const one = "One or more parameter values were invalid: "

	// Billing is checked before keys.
	f(one+"ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is PROVISIONED", defs(""), keys("a:HASH"))
	f(one+"ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is PROVISIONED",
		defs(""), keys("a:HASH"), `"BillingMode":"PROVISIONED"`)
	f(one+"Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is PAY_PER_REQUEST",
		defs(""), keys("a:HASH a:HASH"), oneUnit, perRequest)
	f("Given value 1000000000001 for ReadCapacityUnits is out of bounds", defs(""), keys("a:HASH"),
		`"ProvisionedThroughput":{"WriteCapacityUnits":1000000000001,"ReadCapacityUnits":1000000000001}`)
	f("Given value 1000000000001 for WriteCapacityUnits is out of bounds", defs(""), keys("a:HASH"),
		`"ProvisionedThroughput":{"WriteCapacityUnits":1000000000001,"ReadCapacityUnits":1000000000000}`)

	// The table's key.
	f("Attribute Name is duplicated: a", defs("a:S a:N"), keys("a:HASH"), perRequest)
	f("Invalid KeySchema: Some index key attribute have no definition", defs(""), keys("a:HASH a:HASH"), oneUnit)
	f("Invalid KeySchema: Some index key attribute have no definition", defs(""), keys("a:HASH"), perRequest)
	f("Invalid KeySchema: Some index key attribute have no definition", defs("b:S"), keys("a:HASH a:HASH"), oneUnit)
	f("Invalid KeySchema: Some index key attribute have no definition", defs("b:S"), keys("a:HASH b:RANGE"), oneUnit)
	f("Invalid KeySchema: Some index key attribute have no definition", defs("a:S"), keys("a:HASH a:HASH"), oneUnit)
	f(one+"Some index key attributes are not defined in AttributeDefinitions. Keys: [a], AttributeDefinitions: [b]",
		defs("b:S"), keys("a:HASH"), oneUnit)
	f(one+"Some index key attributes are not defined in AttributeDefinitions. Keys: [a, b], AttributeDefinitions: [a, c]",
		defs("a:S c:S"), keys("a:HASH b:RANGE"), oneUnit)
	f("Both the Hash Key and the Range Key element in the KeySchema have the same name", defs("a:S b:S"), keys("a:HASH a:HASH"), oneUnit)
	f("Invalid KeySchema: The second KeySchemaElement is not a RANGE key type", defs("a:S b:S"), keys("a:HASH b:HASH"), oneUnit)
	f("Invalid KeySchema: The first KeySchemaElement is not a HASH key type", defs("a:S b:S"), keys("a:RANGE b:HASH"), oneUnit)
	f("Invalid KeySchema: The first KeySchemaElement is not a HASH key type", defs("a:S"), keys("a:RANGE"), oneUnit)
	f(one+"Number of attributes in KeySchema does not exactly match number of attributes defined in AttributeDefinitions",
		defs("a:S c:S b:S"), keys("a:HASH b:RANGE"), oneUnit)

	// Local indexes.
	f(one+"List of LocalSecondaryIndexes is empty", defs("a:S b:S"), keys("a:HASH"), lsis(), oneUnit)
	f(one+"Table KeySchema does not have a range key, which is required when specifying a LocalSecondaryIndex",
		defs("a:S b:S"), keys("a:HASH"), lsis(index("abc", "c:RANGE", `"Projection":{}`)), oneUnit)
	f(one+"Some index key attributes are not defined in AttributeDefinitions. Keys: [c, d], AttributeDefinitions: [a, b]",
		defs("a:S b:S"), keys("a:HASH b:RANGE"), lsis(index("abc", "c:RANGE d:RANGE", `"Projection":{}`)), oneUnit)
	f("Invalid KeySchema: The first KeySchemaElement is not a HASH key type",
		defs("a:S b:S"), keys("a:HASH b:RANGE"), lsis(index("abc", "a:RANGE", `"Projection":{}`)), oneUnit)
	f("Both the Hash Key and the Range Key element in the KeySchema have the same name",
		defs("a:S b:S"), keys("a:HASH b:RANGE"), lsis(index("abc", "a:HASH a:RANGE", `"Projection":{}`)), oneUnit)
	f("Invalid KeySchema: The second KeySchemaElement is not a RANGE key type",
		defs("a:S b:S"), keys("a:HASH b:RANGE"), lsis(index("abc", "a:HASH b:HASH", `"Projection":{}`)), oneUnit)
	f(one+"Index KeySchema does not have a range key for index: abc",
		defs("a:S b:S"), keys("a:HASH b:RANGE"), lsis(index("abc", "b:HASH", `"Projection":{}`)), oneUnit)
	f(one+"Index KeySchema does not have the same leading hash key as table KeySchema for index: abc. index hash key: b, table hash key: a",
		defs("a:S b:S"), keys("a:HASH b:RANGE"), lsis(index("abc", "b:HASH a:RANGE", `"Projection":{}`)), oneUnit)
	f(one+"Unknown ProjectionType: null",
		defs("a:S b:S"), keys("a:HASH b:RANGE"), lsis(index("abc", "a:HASH b:RANGE", `"Projection":{"NonKeyAttributes":["a"]}`)), oneUnit)
	f(one+"ProjectionType is KEYS_ONLY, but NonKeyAttributes is specified", defs("a:S b:S"), keys("a:HASH b:RANGE"),
		lsis(index("abc", "a:HASH b:RANGE", `"Projection":{"ProjectionType":"KEYS_ONLY","NonKeyAttributes":["a"]}`)), oneUnit)
	f(one+"Duplicate index name: abc", defs("a:S b:S"), keys("a:HASH b:RANGE"),
		lsis(index("abc", "a:HASH b:RANGE", all), index("abc", "a:HASH b:RANGE", all)), oneUnit)
	var six []string
	for i := range 6 {
		six = append(six, index(fmt.Sprint("abc", i), "a:HASH b:RANGE", all))
	}
	f(one+"Number of LocalSecondaryIndexes exceeds per-table limit of 5", defs("a:S b:S"), keys("a:HASH b:RANGE"), lsis(six...), oneUnit)

	// Global indexes.
	f(one+"List of GlobalSecondaryIndexes is empty", defs("a:S b:S"), keys("a:HASH"), gsis(), oneUnit)
	f(one+"Some index key attributes are not defined in AttributeDefinitions. Keys: [c], AttributeDefinitions: [a, b]",
		defs("a:S b:S"), keys("a:HASH"), gsis(index("abc", "c:RANGE", `"Projection":{}`, oneUnit)), oneUnit)
	f("Invalid KeySchema: The first KeySchemaElement is not a HASH key type",
		defs("a:S b:S"), keys("a:HASH b:RANGE"), gsis(index("abc", "a:RANGE b:RANGE", `"Projection":{}`, oneUnit)), oneUnit)
	f("Both the Hash Key and the Range Key element in the KeySchema have the same name",
		defs("a:S b:S"), keys("a:HASH b:RANGE"), gsis(index("abc", "a:HASH a:RANGE", `"Projection":{}`, oneUnit)), oneUnit)
	f(one+"Unknown ProjectionType: null",
		defs("a:S b:S"), keys("a:HASH b:RANGE"), gsis(index("abc", "b:HASH", `"Projection":{}`, oneUnit)), oneUnit)
	f(one+"ProjectionType is ALL, but NonKeyAttributes is specified", defs("a:S b:S"), keys("a:HASH b:RANGE"),
		gsis(index("abc", "a:HASH b:RANGE", `"Projection":{"ProjectionType":"ALL","NonKeyAttributes":["a"]}`, oneUnit)), oneUnit)
	f(one+"ProjectionType is INCLUDE, but NonKeyAttributes is not specified", defs("a:S b:S"), keys("a:HASH b:RANGE"),
		gsis(index("abc", "a:HASH b:RANGE", `"Projection":{"ProjectionType":"INCLUDE"}`, oneUnit)), oneUnit)
	f(one+"Duplicate element in NonKeyAttributes: x", defs("a:S b:S"), keys("a:HASH b:RANGE"),
		gsis(index("abc", "a:HASH b:RANGE", `"Projection":{"ProjectionType":"INCLUDE","NonKeyAttributes":["x","y","x"]}`, oneUnit)), oneUnit)
	f(one+"Duplicate index name: abc", defs("a:S b:S"), keys("a:HASH b:RANGE"),
		lsis(index("abc", "a:HASH b:RANGE", all)), gsis(index("abc", "a:HASH b:RANGE", all, oneUnit)), oneUnit)
	f(one+"ProvisionedThroughput should not be specified for index: abd when BillingMode is PAY_PER_REQUEST", defs("a:S b:S"), keys("a:HASH"),
		perRequest, gsis(index("abc", "a:HASH b:RANGE", all), index("abd", "a:HASH b:RANGE", all, oneUnit)))
	f(one+"ProvisionedThroughput is not specified for index: abc", defs("a:S b:S"), keys("a:HASH"),
		oneUnit, gsis(index("abc", "b:HASH", all)))
	f("Given value 1000000000001 for WriteCapacityUnits is out of bounds for index abc", defs("a:S b:S"), keys("a:HASH"), oneUnit,
		gsis(index("abc", "b:HASH", all, `"ProvisionedThroughput":{"WriteCapacityUnits":1000000000001,"ReadCapacityUnits":1}`)))
	var many []string
	for i := range 21 {
		many = append(many, index(fmt.Sprint("abc", i), "a:HASH b:RANGE", all, oneUnit))
	}
	f(one+"GlobalSecondaryIndex count exceeds the per-table limit of 20", defs("a:S b:S"), keys("a:HASH b:RANGE"), gsis(many...), oneUnit)
	var wide []string
	for i := range 6 {
		var names []string
		for j := range 20 {
			names = append(names, fmt.Sprintf("%q", fmt.Sprint("n", i, "x", j)))
		}
		wide = append(wide, index(fmt.Sprint("abc", i), "b:HASH",
			`"Projection":{"ProjectionType":"INCLUDE","NonKeyAttributes":[`+strings.Join(names, ",")+`]}`))
	}
	f(one+"Number of NonKeyAttributes over all indexes exceeds per-table limit of 100", defs("a:S b:S"), keys("a:HASH"), perRequest, gsis(wide...))

	// Global indexes with several attributes of a kind.
	f(one+"All HASH key attributes must precede RANGE key attributes in the KeySchema",
		defs("p:S a:S b:S c:S"), keys("p:HASH"), perRequest, gsis(index("abc", "a:HASH b:RANGE c:HASH", all)))
	f("The KeySchema contains multiple key attributes with the same name",
		defs("p:S a:S b:S"), keys("p:HASH"), perRequest, gsis(index("abc", "a:HASH b:HASH a:RANGE", all)))
	f(one+"The KeySchema exceeds the maximum allowed number of HASH key attributes",
		defs("p:S a:S b:S c:S d:S e:S"), keys("p:HASH"), perRequest, gsis(index("abc", "a:HASH b:HASH c:HASH d:HASH e:HASH", all)))
	f(one+"The KeySchema exceeds the maximum allowed number of RANGE key attributes",
		defs("p:S a:S b:S c:S d:S e:S"), keys("p:HASH"), perRequest, gsis(index("abc", "p:HASH a:RANGE b:RANGE c:RANGE d:RANGE e:RANGE", all)))

	// Attributes that no key uses are reported before other errors of indexes.
	f(one+"Some AttributeDefinitions are not used. AttributeDefinitions: [sk, a, b, pk, c], keys used: [pk, sk, a]",
		defs("sk:S a:S b:S pk:S c:S"), keys("pk:HASH sk:RANGE"), perRequest, gsis(index("abc", "a:HASH", `"Projection":{}`)))

	// Streams, encryption, class, limits, tags.
	simple := []string{defs("a:S"), keys("a:HASH"), perRequest}
	f(one+"Table is being created with a stream enabled, UpdateViewType is required", append(simple, `"StreamSpecification":{"StreamEnabled":true}`)...)
	f(one+"Table is being created with a stream disabled, UpdateViewType should not be specified",
		append(simple, `"StreamSpecification":{"StreamEnabled":false,"StreamViewType":"NEW_IMAGE"}`)...)
	f(one+"SSEType can not be specified if Enabled is false", append(simple, `"SSESpecification":{"Enabled":false,"SSEType":"KMS"}`)...)
	f(one+"KMSMasterKeyId can not be specified if Enabled is false", append(simple, `"SSESpecification":{"Enabled":false,"KMSMasterKeyId":"k"}`)...)
	f(one+"SSEType AES256 is not supported", append(simple, `"SSESpecification":{"Enabled":true,"SSEType":"AES256"}`)...)
	f(one+"SSEType KMS is required if KMSMasterKeyId is specified", append(simple, `"SSESpecification":{"Enabled":true,"KMSMasterKeyId":"k"}`)...)
	f("Invalid table-class parameter provided. Please try again with a valid table-class value: [STANDARD, STANDARD_INFREQUENT_ACCESS].",
		append(simple, `"TableClass":"standard"`)...)
	f(one+"MaxReadRequestUnits for OnDemandThroughput cannot be specified when table BillingMode is PROVISIONED.",
		defs("a:S"), keys("a:HASH"), oneUnit, `"OnDemandThroughput":{"MaxReadRequestUnits":10}`)
	f(one+"MaxWriteRequestUnits for OnDemandThroughput for index: abc cannot be specified when table BillingMode is PROVISIONED.",
		defs("a:S b:S"), keys("a:HASH"), oneUnit, gsis(index("abc", "b:HASH", all, oneUnit, `"OnDemandThroughput":{"MaxWriteRequestUnits":10}`)))
	f(one+"Requested MaxReadRequestUnits for OnDemandThroughput for table is outside of valid range",
		append(simple, `"OnDemandThroughput":{"MaxReadRequestUnits":-1}`)...)
	f(one+"Requested MaxWriteRequestUnits for OnDemandThroughput for table is outside of valid range",
		append(simple, `"OnDemandThroughput":{"MaxWriteRequestUnits":0}`)...)
	f(one+"Requested ReadUnitsPerSecond for WarmThroughput for table is lower than initial throughput for OnDemand. "+seeInitial,
		append(simple, `"WarmThroughput":{"ReadUnitsPerSecond":0}`)...)
	f(one+"Requested MaxWriteRequestUnits for OnDemandThroughput for index : abc is outside of valid range",
		defs("a:S b:S"), keys("a:HASH"), perRequest, gsis(index("abc", "b:HASH", all, `"OnDemandThroughput":{"MaxWriteRequestUnits":-7}`)))
	f(one+"Requested ReadUnitsPerSecond for WarmThroughput for table is lower than initial throughput for OnDemand. "+seeInitial,
		append(simple, `"WarmThroughput":{"ReadUnitsPerSecond":11999,"WriteUnitsPerSecond":4000}`)...)
	f(one+"Requested WriteUnitsPerSecond for WarmThroughput for table is lower than WriteCapacityUnits of ProvisionedThroughput",
		defs("a:S"), keys("a:HASH"), `"ProvisionedThroughput":{"ReadCapacityUnits":5,"WriteCapacityUnits":5}`,
		`"WarmThroughput":{"ReadUnitsPerSecond":5,"WriteUnitsPerSecond":4}`)
	f(one+"Requested ReadUnitsPerSecond for WarmThroughput for index abc is lower than initial throughput for OnDemand. "+seeInitial,
		defs("a:S b:S"), keys("a:HASH"), perRequest, gsis(index("abc", "b:HASH", all, `"WarmThroughput":{"ReadUnitsPerSecond":1}`)))
	f(one+"ResourcePolicy is not supported", append(simple, `"ResourcePolicy":"{}"`)...)
	f("Tag Key cannot be prefixed with aws:, Key: aws:x", append(simple, `"Tags":[{"Key":"aws:x","Value":""}]`)...)

	_, err := Create("tab", []byte(`{"KeySchema":[],"KeySchema":[]}`), here, noon, Streams{})
	expectError(t, "a member twice", err, "SerializationException", "")
}

func TestCreate(t *testing.T) {
	table := create(t, request(defs("z:S a:N m:B sk:S pk:S"), keys("pk:HASH sk:RANGE"), perRequest,
		lsis(index("local", "pk:HASH a:RANGE", all)),
		gsis(index("g-z", "z:HASH", `"Projection":{"ProjectionType":"INCLUDE","NonKeyAttributes":["zz","aa","sk"]}`),
			index("g-a", "a:HASH z:HASH m:RANGE sk:RANGE", `"Projection":{"ProjectionType":"KEYS_ONLY"}`)),
		`"StreamSpecification":{"StreamEnabled":"true","StreamViewType":"NEW_AND_OLD_IMAGES"}`,
		`"Tags":[{"Key":"b","Value":"2"},{"Key":"a","Value":"1"}]`, `"DeletionProtectionEnabled":true`))

	if got := fmt.Sprint(table.Attributes()); got != "[{a N} {m B} {pk S} {sk S} {z S}]" {
		t.Errorf("got the attributes %s", got)
	}
	if got := fmt.Sprint(table.Key); got != "{[{pk S}] [{sk S}]}" {
		t.Errorf("got the key %s", got)
	}
	if n := table.Key.Len(); n != 2 {
		t.Errorf("the key has %d attributes", n)
	}
	var names []string
	for _, x := range table.Indexes {
		names = append(names, fmt.Sprintf("%d %s %v %s", x.ID, x.Name, x.Local, x.Status))
	}
	if got := strings.Join(names, " "); got != "1 local true ACTIVE 2 g-z false ACTIVE 3 g-a false ACTIVE" {
		t.Errorf("got the indexes %s", got)
	}
	if got := fmt.Sprint(table.Index("g-a").Key); got != "{[{a N} {z S}] [{m B} {sk S}]}" {
		t.Errorf("g-a has the key %s", got)
	}
	if table.Index("g") != nil || !table.HasLocal() || !table.Protected {
		t.Error("found an index that doesn't exist, no local indexes, or no deletion protection")
	}
	if got := fmt.Sprint(table.Tags); got != "[{a 1} {b 2}]" {
		t.Errorf("got the tags %s", got)
	}
	s := table.Stream
	if s == nil || s.View != ViewBoth || s.Label != "2026-11-21T12:00:00.123" || s.Label != table.LatestStream || s.Table != "tab" {
		t.Fatalf("got the stream %+v", s)
	}
	if len(s.Shards[0].ID) != 37 || !strings.HasPrefix(s.Shards[0].ID, "shardId-00000001795262400123-") {
		t.Errorf("got the shard %s", s.Shards[0].ID)
	}

	text, err := json.Marshal(table)
	if err != nil {
		t.Fatal(err)
	}
	var again Table
	if err := json.Unmarshal(text, &again); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(&again, table) {
		t.Errorf("read back:\n%+v\nwritten:\n%+v", again, *table)
	}
}

func TestTableMethods(t *testing.T) {
	table := create(t, request(defs("p:S c:S a:N b:S"), keys("p:HASH c:RANGE"), perRequest,
		lsis(index("local", "p:HASH a:RANGE", `"Projection":{"ProjectionType":"INCLUDE","NonKeyAttributes":["x"]}`)),
		gsis(index("global", "b:HASH a:RANGE", `"Projection":{"ProjectionType":"KEYS_ONLY"}`), index("all", "b:HASH", all))))

	projects := func(index, attribute string, want bool) {
		t.Helper()
		if got := table.Index(index).Projects(table, attribute); got != want {
			t.Errorf("%s projects %s: %v", index, attribute, got)
		}
	}
	projects("local", "x", true)
	projects("local", "a", true)
	projects("local", "c", true)
	projects("local", "b", false)
	projects("global", "x", false)
	projects("global", "p", true)
	projects("all", "anything", true)

	key := func(name, index string, typ value.Type) {
		t.Helper()
		x, got := table.KeyOf(name)
		if x == nil && index != "" || x != nil && x.Name != index || got != typ {
			t.Errorf("%s is a key of %v with type %s", name, x, got)
		}
	}
	key("a", "local", value.Number)
	key("b", "global", value.String)
	key("c", "", 0)

	views := func(v ViewType, old, new bool) {
		t.Helper()
		if v.Old() != old || v.New() != new {
			t.Errorf("%s shows old %v, new %v", v, v.Old(), v.New())
		}
	}
	views(ViewKeys, false, false)
	views(ViewOld, true, false)
	views(ViewNew, false, true)
	views(ViewBoth, true, true)
}
