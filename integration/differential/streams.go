package differential

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strings"
)

// record is a change in a stream.
type record struct{ key, text string }

// compareStreams compares the recorded changes of each item, in their order, except for
// items that were removed because they differed.
func (r *round) compareStreams(ctx context.Context) (*difference, error) {
	for _, t := range r.scene.tables {
		if t.stream == "" || r.tainted[t.name] {
			continue
		}
		a, b, err := r.both(func(e *endpoint) (answer, error) {
			records, err := e.records(ctx, t)
			byKey := object{}
			for _, one := range records {
				if !r.reconciled[t.name+one.key] {
					all, _ := byKey[one.key].(list)
					byKey[one.key] = append(all, one.text)
				}
			}
			return answer{status: http.StatusOK, body: byKey}, err
		})
		if err != nil {
			return nil, err
		}
		req := request{operation: "GetRecords", body: object{"TableName": t.name, "StreamViewType": t.stream}}
		if what := r.scene.tables.compare(req, a, b); what != "" {
			return &difference{req: req, what: what, first: a, second: b}, nil
		}
	}
	return nil, nil
}

// records reads all records of a table's stream.
func (e *endpoint) records(ctx context.Context, t *table) ([]record, error) {
	described, err := e.mustSend(ctx, "DescribeTable", object{"TableName": t.name})
	if err != nil {
		return nil, err
	}
	arn := described["Table"].(object)["LatestStreamArn"]
	stream, err := e.mustSend(ctx, "DescribeStream", object{"StreamArn": arn})
	if err != nil {
		return nil, err
	}
	var all []record
	shards, _ := stream["StreamDescription"].(object)["Shards"].(list)
	for _, shard := range shards {
		records, err := e.shard(ctx, object{"StreamArn": arn, "ShardId": shard.(object)["ShardId"], "ShardIteratorType": "TRIM_HORIZON"})
		if err != nil {
			return nil, err
		}
		all = append(all, records...)
	}
	return all, nil
}

// shard reads a shard up to an empty page: there are no changes in the meantime.
func (e *endpoint) shard(ctx context.Context, at object) ([]record, error) {
	got, err := e.mustSend(ctx, "GetShardIterator", at)
	if err != nil {
		return nil, err
	}
	var all []record
	for next := got["ShardIterator"]; next != nil; {
		page, err := e.mustSend(ctx, "GetRecords", object{"ShardIterator": next})
		if err != nil {
			return nil, err
		}
		records, _ := page["Records"].(list)
		if len(records) == 0 {
			break
		}
		for _, r := range records {
			change, _ := r.(object)["dynamodb"].(object)
			fields := object{"event": r.(object)["eventName"]}
			for _, name := range []string{"NewImage", "OldImage", "StreamViewType"} {
				if change[name] != nil {
					fields[name] = change[name]
				}
			}
			all = append(all, record{text(normalizeValue(change["Keys"])), text(normalizeValue(fields))})
		}
		next = page["NextShardIterator"]
	}
	return all, nil
}

// stream draws a request about a table's stream, with placeholders for names that differ
// between the ends: see named.
func (g *generator) stream(t *table) request {
	for _, other := range g.tables {
		if t.stream == "" {
			t = other
		}
	}
	switch g.IntN(5) {
	case 0:
		return request{operation: "ListStreams", body: object{"TableName": t.name}}
	case 1:
		return request{operation: "DescribeStream", body: object{"StreamArn": "STREAM-OF-" + t.name}}
	case 2, 3:
		body := object{"StreamArn": "STREAM-OF-" + t.name, "ShardId": "SHARD-OF-" + t.name,
			"ShardIteratorType": g.one("TRIM_HORIZON", "LATEST", "AT_SEQUENCE_NUMBER", "AFTER_SEQUENCE_NUMBER")}
		if strings.Contains(body["ShardIteratorType"].(string), "SEQUENCE") && !g.oneIn(4) {
			body["SequenceNumber"] = "NUMBER-OF-" + t.name
		}
		return request{operation: "GetShardIterator", body: body}
	}
	body := object{"ShardIterator": "ITERATOR-OF-" + t.name}
	if g.oneIn(3) {
		body["Limit"] = g.pick(1, 2, 1000, 1001)
	}
	return request{operation: "GetRecords", body: body}
}

var streamName = regexp.MustCompile(`(STREAM|SHARD|NUMBER|ITERATOR)-OF-([A-Za-z0-9-]+)`)

// named replaces our placeholders by an end's own names: of a table's stream, of its first
// shard, of the shard's beginning, and of an iterator for it. The placeholder of a stream
// that does not exist is kept.
func (e *endpoint) named(ctx context.Context, body string) string {
	return streamName.ReplaceAllStringFunc(body, func(ours string) string {
		parts := streamName.FindStringSubmatch(ours)
		name, err := e.streamName(ctx, parts[1], parts[2])
		if s, ok := name.(string); ok && err == nil {
			return s
		}
		return ours
	})
}

func (e *endpoint) streamName(ctx context.Context, what, table string) (any, error) {
	described, err := e.mustSend(ctx, "DescribeTable", object{"TableName": table})
	if err != nil {
		return nil, err
	}
	arn := described["Table"].(object)["LatestStreamArn"]
	if what == "STREAM" || arn == nil {
		return arn, nil
	}
	stream, err := e.mustSend(ctx, "DescribeStream", object{"StreamArn": arn})
	if err != nil {
		return nil, err
	}
	shard := stream["StreamDescription"].(object)["Shards"].(list)[0].(object)
	switch what {
	case "SHARD":
		return shard["ShardId"], nil
	case "NUMBER":
		return shard["SequenceNumberRange"].(object)["StartingSequenceNumber"], nil
	}
	got, err := e.mustSend(ctx, "GetShardIterator", object{"StreamArn": arn, "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"})
	return got["ShardIterator"], err
}

// mustSend sends a request that must succeed.
func (e *endpoint) mustSend(ctx context.Context, operation string, body object) (object, error) {
	r := request{operation: operation, body: body}
	a, err := e.send(ctx, r)
	if err != nil {
		return nil, err
	}
	o, ok := a.body.(object)
	if !ok || a.status != http.StatusOK {
		return nil, fmt.Errorf("%s answers %s with %s", e.name, r, a)
	}
	return o, nil
}
