package catalog

import (
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"strings"
)

// account is the account in ARNs; a store belongs to none.
const account = "000000000000"

// Place is the region and account in a store's ARNs.
type Place struct {
	Region string
}

func (p Place) arn(service, resource string) string {
	return "arn:aws:" + service + ":" + p.Region + ":" + account + ":" + resource
}

// Table returns the ARN of a table.
func (p Place) Table(name string) string { return p.arn("dynamodb", "table/"+name) }

// Index returns the ARN of an index.
func (p Place) Index(table, index string) string { return p.Table(table) + "/index/" + index }

// Stream returns the ARN of a stream.
func (p Place) Stream(table, label string) string { return p.Table(table) + "/stream/" + label }

// key returns the ARN of the KMS key that a request names as an ARN, an alias or a key id.
// It returns "" for the service's own key of the account.
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

// NewUUID returns a new unique name.
func NewUUID() string {
	var b [16]byte
	rand.Read(b[:])
	return uuid(b)
}

// uuid formats random bytes as a UUID.
func uuid(b [16]byte) string {
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// resource splits the ARN of a table, or of one of its indexes or streams, into the table's
// name and the rest: "index/i", "stream/label" or nothing. It ignores the region and the
// account, as for a request's TableName: the store has one of each.
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

// ParseStream splits the ARN of a stream. It returns false if arn is not one. It ignores the
// region and account; no stream has an ARN with others.
func ParseStream(arn string) (table, label string, ok bool) {
	table, rest, ok := resource(arn)
	if !ok {
		return "", "", false
	}
	label, ok = strings.CutPrefix(rest, "stream/")
	return table, label, ok && label != ""
}
