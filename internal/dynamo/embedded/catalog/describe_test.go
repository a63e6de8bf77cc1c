package catalog

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// pretty returns JSON, which must be valid, with its members by name.
func pretty(t *testing.T, text []byte) string {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	out, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// describe compares a description.
func describe(t *testing.T, got []byte, want string) {
	t.Helper()
	if got, want := pretty(t, got), pretty(t, []byte(want)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func describer() *Describer {
	return &Describer{Place: here, Now: noon.Add(time.Hour), Count: func(index uint32) (int64, int64) {
		return int64(10 * index), int64(100 * index)
	}}
}

const aboutTab = `"TableArn":"arn:aws:dynamodb:us-east-1:000000000000:table/tab","TableId":"8a3f4b0e-6a0c-4b6e-9d55-2b2f8a1f0c11",` +
	`"ItemCount":0,"TableSizeBytes":0`

func TestDescribe(t *testing.T) {
	body := request(defs("p:S"), keys("p:HASH"), `"ProvisionedThroughput":{"ReadCapacityUnits":5,"WriteCapacityUnits":6}`)
	table := create(t, body)
	describe(t, describer().Append(nil, table), `{
		"AttributeDefinitions":[{"AttributeName":"p","AttributeType":"S"}],"KeySchema":[{"AttributeName":"p","KeyType":"HASH"}],
		"CreationDateTime":1795262400.123,"TableName":"tab","TableStatus":"ACTIVE",`+aboutTab+`,
		"ProvisionedThroughput":{"NumberOfDecreasesToday":0,"ReadCapacityUnits":5,"WriteCapacityUnits":6},
		"DeletionProtectionEnabled":false,"WarmThroughput":{"ReadUnitsPerSecond":5,"WriteUnitsPerSecond":6,"Status":"ACTIVE"}}`)
	describe(t, describer().Append(nil, table.Creating([]byte(body))), `{
		"AttributeDefinitions":[{"AttributeName":"p","AttributeType":"S"}],"KeySchema":[{"AttributeName":"p","KeyType":"HASH"}],
		"CreationDateTime":1795262400.123,"TableName":"tab","TableStatus":"CREATING",`+aboutTab+`,
		"ProvisionedThroughput":{"NumberOfDecreasesToday":0,"ReadCapacityUnits":5,"WriteCapacityUnits":6},"DeletionProtectionEnabled":false}`)
	describe(t, describer().AppendDeleting(nil, table), `{"TableName":"tab","TableStatus":"DELETING",`+aboutTab+`,
		"ProvisionedThroughput":{"NumberOfDecreasesToday":0,"ReadCapacityUnits":5,"WriteCapacityUnits":6},
		"DeletionProtectionEnabled":false,"WarmThroughput":{"ReadUnitsPerSecond":5,"WriteUnitsPerSecond":6,"Status":"ACTIVE"}}`)

	down := mustAlter(t, table, `{"ProvisionedThroughput":{"ReadCapacityUnits":4,"WriteCapacityUnits":7}}`)
	if got := string(describer().Append(nil, down.Table)); !strings.Contains(got, `"ProvisionedThroughput":{"LastIncreaseDateTime":1795266000.124,`+
		`"LastDecreaseDateTime":1795266000.124,"NumberOfDecreasesToday":1,"ReadCapacityUnits":4,"WriteCapacityUnits":7}`) {
		t.Errorf("after a change of throughput: %s", got)
	}
}

func TestDescribeEverything(t *testing.T) {
	body := request(defs("p:S c:N x:B"), keys("p:HASH c:RANGE"), perRequest, `"OnDemandThroughput":{"MaxWriteRequestUnits":9}`,
		`"WarmThroughput":{"ReadUnitsPerSecond":12001}`, `"DeletionProtectionEnabled":true`, `"TableClass":"STANDARD"`,
		`"SSESpecification":{"Enabled":true,"SSEType":"KMS","KMSMasterKeyId":"1-2"}`,
		`"StreamSpecification":{"StreamEnabled":true,"StreamViewType":"KEYS_ONLY"}`,
		lsis(index("local", "p:HASH x:RANGE", `"Projection":{"ProjectionType":"INCLUDE","NonKeyAttributes":["é","b"]}`)),
		gsis(index("byx", "x:HASH p:HASH c:RANGE", all, `"OnDemandThroughput":{"MaxReadRequestUnits":8}`)))
	table := create(t, body)
	const schema = `"AttributeDefinitions":[{"AttributeName":"c","AttributeType":"N"},{"AttributeName":"p","AttributeType":"S"},
		{"AttributeName":"x","AttributeType":"B"}],"KeySchema":[{"AttributeName":"p","KeyType":"HASH"},{"AttributeName":"c","KeyType":"RANGE"}],
		"CreationDateTime":1795262400.123,"TableName":"tab",`
	const features = `"DeletionProtectionEnabled":true,"TableClassSummary":{"TableClass":"STANDARD"},
		"SSEDescription":{"Status":"ENABLED","SSEType":"KMS","KMSMasterKeyArn":"arn:aws:kms:us-east-1:000000000000:key/1-2"},
		"StreamSpecification":{"StreamEnabled":true,"StreamViewType":"KEYS_ONLY"},"LatestStreamLabel":"2026-11-21T12:00:00.123",
		"LatestStreamArn":"arn:aws:dynamodb:us-east-1:000000000000:table/tab/stream/2026-11-21T12:00:00.123",
		"LocalSecondaryIndexes":[{"IndexName":"local","KeySchema":[{"AttributeName":"p","KeyType":"HASH"},{"AttributeName":"x","KeyType":"RANGE"}],
		"Projection":{"ProjectionType":"INCLUDE","NonKeyAttributes":["b","é"]},"IndexSizeBytes":100,"ItemCount":10,
		"IndexArn":"arn:aws:dynamodb:us-east-1:000000000000:table/tab/index/local"}],
		"GlobalSecondaryIndexes":[{"IndexName":"byx","KeySchema":[{"AttributeName":"x","KeyType":"HASH"},{"AttributeName":"p","KeyType":"HASH"},
		{"AttributeName":"c","KeyType":"RANGE"}],"Projection":{"ProjectionType":"ALL"},"IndexSizeBytes":200,"ItemCount":20,
		"IndexArn":"arn:aws:dynamodb:us-east-1:000000000000:table/tab/index/byx",`
	const none = `"ProvisionedThroughput":{"NumberOfDecreasesToday":0,"ReadCapacityUnits":0,"WriteCapacityUnits":0}`
	warm := strings.NewReplacer("WARM", `"WarmThroughput":{"ReadUnitsPerSecond":12001,"WriteUnitsPerSecond":4000,"Status":"ACTIVE"}`)
	describe(t, describer().Append(nil, table), warm.Replace(`{`+schema+`"TableStatus":"ACTIVE",`+aboutTab+`,`+none+`,
		"BillingModeSummary":{"BillingMode":"PAY_PER_REQUEST","LastUpdateToPayPerRequestDateTime":1795262400.123},
		"OnDemandThroughput":{"MaxWriteRequestUnits":9},WARM,`+features+`"IndexStatus":"ACTIVE",`+none+`,
		"OnDemandThroughput":{"MaxReadRequestUnits":8},"WarmThroughput":{"ReadUnitsPerSecond":12000,"WriteUnitsPerSecond":4000,"Status":"ACTIVE"}}]}`))
	describe(t, describer().Append(nil, table.Creating([]byte(body))), warm.Replace(`{`+schema+`"TableStatus":"CREATING",`+aboutTab+`,`+none+`,
		"BillingModeSummary":{"BillingMode":"PAY_PER_REQUEST"},
		"OnDemandThroughput":{"MaxWriteRequestUnits":9},WARM,`+features+`"IndexStatus":"CREATING",`+none+`,"OnDemandThroughput":{"MaxReadRequestUnits":8}}]}`))
}

func TestDescribeIndexChanges(t *testing.T) {
	status := func(table *Table, want string) {
		t.Helper()
		var got struct {
			TableStatus            string
			GlobalSecondaryIndexes []struct {
				IndexName, IndexStatus string
				Backfilling            *bool
			}
		}
		if err := json.Unmarshal(describer().Append(nil, table), &got); err != nil {
			t.Fatal(err)
		}
		text := got.TableStatus
		for _, x := range got.GlobalSecondaryIndexes {
			text += " " + x.IndexName + " " + x.IndexStatus
			if x.Backfilling != nil {
				text += map[bool]string{true: " backfilling", false: " not backfilling"}[*x.Backfilling]
			}
		}
		if text != want {
			t.Errorf("got  %s\nwant %s", text, want)
		}
	}
	c := mustAlter(t, create(t, demanded), request(defs("z:S"), `"GlobalSecondaryIndexUpdates":[{"Create":`+index("new", "z:HASH", all)+`}]`))
	status(c.Reply, "UPDATING byx ACTIVE byy ACTIVE new CREATING not backfilling")
	status(c.Table, "ACTIVE byx ACTIVE byy ACTIVE new CREATING backfilling")
	status(c.Table.Filled(3), "ACTIVE byx ACTIVE byy ACTIVE new ACTIVE")
	d := mustAlter(t, c.Table.Filled(3), `{"GlobalSecondaryIndexUpdates":[{"Delete":{"IndexName":"byx"}}]}`)
	status(d.Reply, "UPDATING byx DELETING byy ACTIVE new ACTIVE")
	status(d.Table, "ACTIVE byy ACTIVE new ACTIVE")
	if got := string(describer().Append(nil, d.Table)); strings.Contains(got, `"AttributeName":"x"`) {
		t.Errorf("the definition of an unused attribute is left: %s", got)
	}
}
