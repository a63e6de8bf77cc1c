package transfer

import (
	"strings"
	"testing"

	"github.com/kasoku/kasoku/internal/dynamo/transfer/creation"
)

func TestParseSchema(t *testing.T) {
	const (
		keys  = `"KeySchema":[{"AttributeName":"id","KeyType":"HASH"}],"AttributeDefinitions":[{"AttributeName":"id","AttributeType":"S"}]`
		plain = `"AttributeDefinitions":[{"AttributeName":"id","AttributeType":"S"}],"KeySchema":[{"AttributeName":"id","KeyType":"HASH"}]`
		state = `,"TableStatus":"ACTIVE","TableArn":"arn:x","ItemCount":7,"CreationDateTime":1.5,"TableSizeBytes":3`
		none  = `{"ReadCapacityUnits":0,"WriteCapacityUnits":0,"NumberOfDecreasesToday":0}`
		some  = `{"ReadCapacityUnits":5,"WriteCapacityUnits":6,"NumberOfDecreasesToday":1}`
	)
	f := func(text, want, expiry string) {
		t.Helper()
		s, err := parseSchema("t.json", []byte(text))
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if got := string(s.request); got != want || s.expiry != expiry {
			t.Fatalf("%s:\ngot  %s, %q\nwant %s, %q", text, got, s.expiry, want, expiry)
		}
	}
	// Requests are sent as they are.
	f(`{"TableName":"Tab",`+keys+`,"Tags":[]}`, `{"TableName":"Tab",`+keys+`,"Tags":[]}`, "")
	// Descriptions become requests.
	head := `{"TableName":"Tab",` + plain
	f(`{"Table":{"TableName":"Tab",`+keys+state+`,"ProvisionedThroughput":`+none+`}}`, head+`,"BillingMode":"PAY_PER_REQUEST"}`, "")
	f(`{"TableDescription":{"TableName":"Tab",`+keys+state+`,"ProvisionedThroughput":`+some+`}}`,
		head+`,"BillingMode":"PROVISIONED","ProvisionedThroughput":{"ReadCapacityUnits":5,"WriteCapacityUnits":6}}`, "")
	f(`{"TableName":"Tab",`+keys+state+`,"BillingModeSummary":{"BillingMode":"PAY_PER_REQUEST"},"ProvisionedThroughput":`+none+
		`,"GlobalSecondaryIndexes":[{"IndexName":"g","KeySchema":[1],"Projection":{"ProjectionType":"ALL"},"IndexStatus":"ACTIVE","ProvisionedThroughput":`+none+`}]`+
		`,"LocalSecondaryIndexes":[{"IndexName":"l","KeySchema":[2],"Projection":{"ProjectionType":"ALL"},"IndexArn":"a"}]`+
		`,"StreamSpecification":{"StreamEnabled":true,"StreamViewType":"NEW_IMAGE"},"LatestStreamArn":"x","TableClassSummary":{"TableClass":"STANDARD"}`+
		`,"DeletionProtectionEnabled":true,"WarmThroughput":{"Status":"ACTIVE"}}`,
		head+`,"BillingMode":"PAY_PER_REQUEST","GlobalSecondaryIndexes":[{"IndexName":"g","KeySchema":[1],"Projection":{"ProjectionType":"ALL"}}]`+
			`,"LocalSecondaryIndexes":[{"IndexName":"l","KeySchema":[2],"Projection":{"ProjectionType":"ALL"}}]`+
			`,"StreamSpecification":{"StreamEnabled":true,"StreamViewType":"NEW_IMAGE"},"TableClass":"STANDARD","DeletionProtectionEnabled":true}`, "")
	// With a time to live.
	f(`{"Table":{"TableName":"Tab",`+keys+`},"TimeToLiveDescription":{"TimeToLiveStatus":"ENABLED","AttributeName":"e"}}`, `{"TableName":"Tab",`+keys+`}`, "e")
	f(`{"Table":{"TableName":"Tab",`+keys+`},"TimeToLiveDescription":{"TimeToLiveStatus":"DISABLED"}}`, `{"TableName":"Tab",`+keys+`}`, "")
	f(`{"TableName":"Tab","TimeToLiveSpecification":{"Enabled":true,"AttributeName":"e"}}`, "", "e")

	bad := func(text, want string) {
		t.Helper()
		if _, err := parseSchema("t.json", []byte(text)); err == nil || !strings.HasPrefix(err.Error(), "t.json:"+want) {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
	bad("{\n\"TableName\":\n}", "3: is not JSON: invalid character '}'")
	bad(`{"TableName":"Tab","KeySchema":[]}`, " is no description of a table: it needs TableName")
	bad(`{"TableName":"Tab","KeySchema":[{"AttributeName":"id","KeyType":"HASH"}]}`, " is no description of a table: the key attribute id")
	bad(`{"TableName":"../x",`+keys+`}`, " is no description of a table: \"../x\" is no name of a table")
	bad(`{"TableName":5,"KeySchema":[]}`, " is no description of a table: json")
	bad(strings.Repeat(`{"a":`, 500)+"1"+strings.Repeat("}", 500), " is not JSON, or nests too deeply")
}

func TestIsSchema(t *testing.T) {
	f := func(text string, want bool) {
		t.Helper()
		if got := isSchema([]byte(text)); got != want {
			t.Errorf("%s: got %v", text, got)
		}
	}
	f(`{"Table":{"TableName":"Tab"}}`, true)
	f(`{"KeySchema":[]}`, true)
	f(`{"TimeToLiveDescription":{}}`, true)
	f(`{"Item":{}}`, false)
	f(`{"Table":{"S":"x"}}`, false)
	f(`{"KeySchema":{"L":[]}}`, false)
}

func TestBaseName(t *testing.T) {
	f := func(name, want string) {
		t.Helper()
		if got := baseName(name); got != want {
			t.Errorf("%s: got %s", name, got)
		}
	}
	f("T.json", "T")
	f("dir/T.items.json.gz", "dir/T")
	f("T.schema.json", "T")
	f("T.ttl.json", "T")
	f("my.table.csv", "my.table")
	f("T.ion.gz", "T")
	f("T.jsonl", "T")
}

// A table that was created from a description has the same one.
func TestDescriptionCreatesTheSameTable(t *testing.T) {
	s := newServer(t)
	s.must("CreateTable", `{"TableName":"one","BillingMode":"PAY_PER_REQUEST",
		"AttributeDefinitions":[{"AttributeName":"a","AttributeType":"S"},{"AttributeName":"b","AttributeType":"N"},{"AttributeName":"c","AttributeType":"B"}],
		"KeySchema":[{"AttributeName":"a","KeyType":"HASH"},{"AttributeName":"b","KeyType":"RANGE"}],
		"GlobalSecondaryIndexes":[{"IndexName":"gsi","KeySchema":[{"AttributeName":"c","KeyType":"HASH"}],"Projection":{"ProjectionType":"INCLUDE","NonKeyAttributes":["x"]}}],
		"LocalSecondaryIndexes":[{"IndexName":"lsi","KeySchema":[{"AttributeName":"a","KeyType":"HASH"},{"AttributeName":"c","KeyType":"RANGE"}],"Projection":{"ProjectionType":"ALL"}}],
		"VectorIndexes":[{"IndexName":"vec","VectorAttribute":{"AttributeName":"v"},"Dimensions":4,"DistanceFunction":"COSINE","Projection":{"ProjectionType":"KEYS_ONLY"}}],
		"StreamSpecification":{"StreamEnabled":true,"StreamViewType":"KEYS_ONLY"}}`)
	s.must("UpdateTimeToLive", `{"TableName":"one","TimeToLiveSpecification":{"Enabled":true,"AttributeName":"e"}}`)
	directory := t.TempDir()
	if _, err := Dump(t.Context(), s.config("one"), directory); err != nil {
		t.Fatal(err)
	}
	other := newServer(t)
	totals, err := Load(t.Context(), other.config(), []string{directory})
	if err != nil || len(totals.Created) != 1 {
		t.Fatalf("got %+v, %v", totals, err)
	}
	describe := func(s *server) string {
		request, err := creation.Request([]byte(strings.TrimSuffix(strings.TrimPrefix(s.must("DescribeTable", `{"TableName":"one"}`), `{"Table":`), "}")))
		if err != nil {
			t.Fatal(err)
		}
		return string(request) + s.must("DescribeTimeToLive", `{"TableName":"one"}`)
	}
	if got, want := describe(other), describe(s); got != want || !strings.Contains(want, `"vec"`) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
