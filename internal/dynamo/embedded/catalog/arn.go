package catalog

import (
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"strings"
)

// account stands in ARNs: the store belongs to none.
const account = "000000000000"

// Place is where a store says it is.
type Place struct {
	Region string
}

func (p Place) arn(service, resource string) string {
	return "arn:aws:" + service + ":" + p.Region + ":" + account + ":" + resource
}

// Table is the ARN of a table.
func (p Place) Table(name string) string { return p.arn("dynamodb", "table/"+name) }

// Index is the ARN of an index.
func (p Place) Index(table, index string) string { return p.Table(table) + "/index/" + index }

// Stream is the ARN of a stream.
func (p Place) Stream(table, label string) string { return p.Table(table) + "/stream/" + label }

// key is the ARN of the key of KMS that a request calls id: by ARN, alias or the
// key's own id; empty for the key that the service keeps for the account.
func (p Place) key(id string) string {
	switch {
	case strings.HasPrefix(id, "arn:"):
		return id
	case strings.HasPrefix(id, "alias/"):
		return p.arn("kms", id)
	case id != "":
		return p.arn("kms", "key/"+id)
	}
	h := sha256.Sum256([]byte("aws/dynamodb " + p.Region))
	return p.arn("kms", "key/"+uuid([16]byte(h[:])))
}

// NewUUID returns a name that nothing else has.
func NewUUID() string {
	var b [16]byte
	rand.Read(b[:])
	return uuid(b)
}

// uuid writes random bytes as a UUID.
func uuid(b [16]byte) string {
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// resource splits the ARN of a table, or of one of its indexes or streams, into the
// table's name and what follows it: "index/i", "stream/label" or nothing. The region
// and the account are not compared, as in a request's TableName: the store has one
// of each.
func resource(arn string) (table, rest string, ok bool) {
	parts := strings.SplitN(arn, ":", 6)
	if len(parts) != 6 || parts[0] != "arn" || parts[2] != "dynamodb" || parts[3] == "" || strings.Trim(parts[4], "0123456789") != "" {
		return "", "", false
	}
	after, ok := strings.CutPrefix(parts[5], "table/")
	if !ok {
		return "", "", false
	}
	table, rest, _ = strings.Cut(after, "/")
	return table, rest, table != ""
}

// Resource splits the ARN of a table or stream that may have a policy; rest is
// empty or "stream/label".
func Resource(arn string) (table, rest string, err error) {
	if !strings.HasPrefix(arn, "arn:") {
		return "", "", invalid("ARNs must start with 'arn:': %s", arn)
	}
	parts := strings.SplitN(arn, ":", 6)
	if len(parts) != 6 || parts[2] != "dynamodb" {
		return "", "", invalid("Provided Arn is not a DynamoDB resource arn: %s", arn)
	}
	table, rest, ok := resource(arn)
	switch {
	case !ok:
		return "", "", invalid("Invalid resource Arn: %s", arn)
	case rest != "" && !strings.HasPrefix(rest, "stream/"):
		return "", "", invalid("Invalid resource arn provided, only table or stream is accepted. Provided resource arn: %s", arn)
	}
	return table, rest, nil
}

// ParseStream splits the ARN of a stream; false if arn is none. It may be of
// another place: there is no stream by that name then.
func ParseStream(arn string) (table, label string, ok bool) {
	table, rest, ok := resource(arn)
	if !ok {
		return "", "", false
	}
	label, ok = strings.CutPrefix(rest, "stream/")
	return table, label, ok && label != ""
}
