package dataset

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

// Credentials for signing. All measured servers have the same ones; they protect nothing.
const (
	AccessKey = "BENCHKEY"
	SecretKey = "bench-secret-not-a-secret"
	Region    = "us-east-1"
)

// TargetPrefix is the text before an operation's name in X-Amz-Target.
const TargetPrefix = "DynamoDB_20120810."

// unsigned replaces the signature: DynamoDB Local requires one but does not verify it.
const unsigned = "AWS4-HMAC-SHA256 Credential=" + AccessKey + "/20260101/" + Region + "/dynamodb/aws4_request, " +
	"SignedHeaders=content-length;content-type;host;x-amz-date;x-amz-target, " +
	"Signature=0000000000000000000000000000000000000000000000000000000000000000"

const agent = "aws-sdk-go-v2/1.47.6 os/linux lang/go#1.26 md/GOOS#linux md/GOARCH#amd64 api/dynamodb#1.73.0"

// AppendRequest appends an HTTP request for an operation, with the header that an SDK sends.
func AppendRequest(dst []byte, operation string, body []byte) []byte {
	dst = append(dst, "POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nUser-Agent: "+agent+"\r\nContent-Length: "...)
	dst = strconv.AppendInt(dst, int64(len(body)), 10)
	dst = append(dst, "\r\nAccept-Encoding: identity\r\nAuthorization: "+unsigned+
		"\r\nContent-Type: application/x-amz-json-1.0\r\nX-Amz-Date: 20260101T000000Z\r\nX-Amz-Target: "+TargetPrefix...)
	dst = append(dst, operation...)
	dst = append(dst, "\r\n\r\n"...)
	return append(dst, body...)
}

// Signed returns an HTTP request for an operation with a valid signature made at now.
// Servers accept it for 15 minutes.
func Signed(operation string, body []byte, now time.Time) ([]byte, error) {
	r, err := http.NewRequest(http.MethodPost, "http://127.0.0.1/", bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("make request to sign: %w", err)
	}
	r.Header.Set("Accept-Encoding", "identity")
	r.Header.Set("Content-Type", "application/x-amz-json-1.0")
	r.Header.Set("X-Amz-Target", TargetPrefix+operation)
	sum := sha256.Sum256(body)
	key := aws.Credentials{AccessKeyID: AccessKey, SecretAccessKey: SecretKey}
	err = v4.NewSigner().SignHTTP(context.Background(), key, r, hex.EncodeToString(sum[:]), "dynamodb", Region, now)
	if err != nil {
		return nil, fmt.Errorf("sign: %w", err)
	}
	text := fmt.Appendf(nil, "POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nUser-Agent: %s\r\nContent-Length: %d\r\n", agent, len(body))
	names := make([]string, 0, len(r.Header))
	for name := range r.Header {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		text = fmt.Appendf(text, "%s: %s\r\n", name, r.Header.Get(name))
	}
	text = append(text, "\r\n"...)
	return append(text, body...), nil
}

// AppendGet appends the body of a GetItem for item i.
func (s Set) AppendGet(dst []byte, i int) []byte {
	dst = append(dst, `{"TableName":"`...)
	dst = append(dst, s.Table...)
	dst = append(dst, `","Key":`...)
	dst = AppendKey(dst, i)
	return append(dst, '}')
}

// AppendPut appends the body of a PutItem for item i.
func (s Set) AppendPut(dst []byte, i int) []byte {
	dst = append(dst, `{"TableName":"`...)
	dst = append(dst, s.Table...)
	dst = append(dst, `","Item":`...)
	dst = s.AppendItem(dst, i)
	return append(dst, '}')
}

// AppendQuery appends the body of a Query for the partition of item i.
func (s Set) AppendQuery(dst []byte, i int) []byte {
	dst = append(dst, `{"TableName":"`...)
	dst = append(dst, s.Table...)
	dst = append(dst, `","KeyConditionExpression":"pk = :p","ExpressionAttributeValues":{":p":{"S":"`...)
	dst = AppendPartition(dst, i)
	return append(dst, `"}}}`...)
}

// AppendBatchGet appends the body of a BatchGetItem for n items from i on,
// step apart.
func (s Set) AppendBatchGet(dst []byte, i, n, step int) []byte {
	dst = append(dst, `{"RequestItems":{"`...)
	dst = append(dst, s.Table...)
	dst = append(dst, `":{"Keys":[`...)
	for k := range n {
		if k > 0 {
			dst = append(dst, ',')
		}
		dst = AppendKey(dst, i+k*step)
	}
	return append(dst, `]}}}`...)
}

// AppendBatchPut appends the body of a BatchWriteItem of n items from i on.
func (s Set) AppendBatchPut(dst []byte, i, n int) []byte {
	dst = append(dst, `{"RequestItems":{"`...)
	dst = append(dst, s.Table...)
	dst = append(dst, `":[`...)
	for k := range n {
		if k > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"PutRequest":{"Item":`...)
		dst = s.AppendItem(dst, i+k)
		dst = append(dst, `}}`...)
	}
	return append(dst, `]}}`...)
}

// CreateTable returns the body of a CreateTable for s.
func (s Set) CreateTable() []byte {
	return []byte(`{"TableName":"` + s.Table + `","BillingMode":"PAY_PER_REQUEST",` + keySchema + `}`)
}

// AppendTableAnswer appends the answer to a DescribeTable.
func (s Set) AppendTableAnswer(dst []byte) []byte {
	return append(dst, `{"Table":{"TableName":"`+s.Table+`","TableStatus":"ACTIVE","ItemCount":0,"TableSizeBytes":0,`+
		`"CreationDateTime":1767225600,"TableArn":"arn:aws:dynamodb:us-east-1:000000000000:table/`+s.Table+`",`+
		`"ProvisionedThroughput":{"NumberOfDecreasesToday":0,"ReadCapacityUnits":0,"WriteCapacityUnits":0},`+
		keySchema+`}}`...)
}

const keySchema = `"AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"},{"AttributeName":"sk","AttributeType":"S"}],` +
	`"KeySchema":[{"AttributeName":"pk","KeyType":"HASH"},{"AttributeName":"sk","KeyType":"RANGE"}]`
