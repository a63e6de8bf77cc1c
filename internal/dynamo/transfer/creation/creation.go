// Package creation turns descriptions of tables into requests that create them.
package creation

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// throughput is provisioned capacity. Descriptions have more members, which requests do not.
type throughput struct{ ReadCapacityUnits, WriteCapacityUnits int64 }

// describedIndex is a secondary index, as a request has it.
type describedIndex struct {
	IndexName             string
	KeySchema             json.RawMessage
	Projection            json.RawMessage
	ProvisionedThroughput *throughput     `json:",omitempty"`
	OnDemandThroughput    json.RawMessage `json:",omitempty"`
}

// creation is a request to create a table, with the members that descriptions have too.
type creation struct {
	TableName                 string
	AttributeDefinitions      json.RawMessage
	KeySchema                 json.RawMessage
	BillingMode               string            `json:",omitempty"`
	ProvisionedThroughput     *throughput       `json:",omitempty"`
	OnDemandThroughput        json.RawMessage   `json:",omitempty"`
	GlobalSecondaryIndexes    []describedIndex  `json:",omitempty"`
	LocalSecondaryIndexes     []describedIndex  `json:",omitempty"`
	VectorIndexes             []describedVector `json:",omitempty"`
	StreamSpecification       json.RawMessage   `json:",omitempty"`
	TableClass                string            `json:",omitempty"`
	DeletionProtectionEnabled bool              `json:",omitempty"`
}

// describedVector is a vector index, as a request has it.
type describedVector struct {
	IndexName        string
	Projection       json.RawMessage
	VectorAttribute  json.RawMessage
	Dimensions       json.RawMessage
	DistanceFunction string
	SearchSchema     json.RawMessage `json:",omitempty"`
}

// Request returns the request of CreateTable for a table as DescribeTable describes it. A
// request is returned as it is.
func Request(description json.RawMessage) ([]byte, error) {
	var d struct {
		creation
		TableStatus        string
		BillingModeSummary struct{ BillingMode string }
		TableClassSummary  struct{ TableClass string }
	}
	if err := json.Unmarshal(description, &d); err != nil {
		return nil, fmt.Errorf("is no description of a table: %w", err)
	}
	if d.TableStatus == "" {
		return description, nil
	}
	c := d.creation
	c.BillingMode, c.TableClass = d.BillingModeSummary.BillingMode, d.TableClassSummary.TableClass
	provisioned := c.ProvisionedThroughput != nil && c.ProvisionedThroughput.ReadCapacityUnits > 0
	switch {
	case c.BillingMode == "" && provisioned:
		c.BillingMode = "PROVISIONED"
	case c.BillingMode == "":
		c.BillingMode = "PAY_PER_REQUEST"
	}
	if c.BillingMode == "PROVISIONED" {
		c.OnDemandThroughput = nil
	} else {
		c.ProvisionedThroughput = nil
	}
	for i := range c.GlobalSecondaryIndexes {
		if x := &c.GlobalSecondaryIndexes[i]; c.BillingMode == "PROVISIONED" {
			x.OnDemandThroughput = nil
		} else {
			x.ProvisionedThroughput = nil
		}
	}
	for i := range c.LocalSecondaryIndexes {
		c.LocalSecondaryIndexes[i].ProvisionedThroughput = nil
	}
	if bytes.Contains(c.StreamSpecification, []byte("false")) {
		c.StreamSpecification = nil
	}
	return json.Marshal(&c)
}
