package cli

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

// signedAsk sends a request to a service, signed with one of its keys.
func (r *running) signedAsk(service, operation, body string) (cacheStatus, answer string) {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), http.MethodPost, "http://"+r.ServiceAddr(service).String(), strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-amz-json-1.0")
	req.Header.Set("X-Amz-Target", "DynamoDB_20120810."+operation)
	hash := sha256.Sum256([]byte(body))
	key := aws.Credentials{AccessKeyID: strings.ToUpper(service), SecretAccessKey: "secret of " + service}
	if err := v4.NewSigner().SignHTTP(r.t.Context(), key, req, hex.EncodeToString(hash[:]), "dynamodb", "local", time.Now()); err != nil {
		r.t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return resp.Header.Get("Cache-Status"), string(data)
}

// TestServicesOfOneStore checks two services with different keys and TTLs in front of one store: a
// write or purge through one of them invalidates the entries of the other.
func TestServicesOfOneStore(t *testing.T) {
	t.Setenv("ORDERS", "secret of orders")
	t.Setenv("AUDIT", "secret of audit")
	service := func(name, dir, more string) string {
		upper := strings.ToUpper(name)
		return fmt.Sprintf(`  %s: {type: dynamodb, listen: "127.0.0.1:0", region: local, origin: "embedded:%s", %s,
    auth: {mode: sigv4, keys: [{id: %s, secret_env: %s, tables: ["*"], allow: [read, write, admin]}]}}`+"\n", name, dir, more, upper, upper)
	}
	dir := filepath.Join(t.TempDir(), "data")
	audit := service("audit", dir+"/", "item_ttl: 30m, query_ttl: 20m")
	r := run(t, head+service("orders", dir, "item_ttl: 5m")+audit)
	const (
		get   = `{"TableName":"tab","Key":{"id":{"S":"1"}}}`
		none  = `{"TableName":"tab","Key":{"id":{"S":"2"}}}`
		query = `{"TableName":"tab","KeyConditionExpression":"id = :i","ExpressionAttributeValues":{":i":{"S":"1"}}}`
		index = `{"TableName":"tab","IndexName":"byg","KeyConditionExpression":"g = :g","ExpressionAttributeValues":{":g":{"S":"x"}}}`
	)
	put := func(service, id, g string) {
		t.Helper()
		if _, answer := r.signedAsk(service, "PutItem", fmt.Sprintf(`{"TableName":"tab","Item":{"id":{"S":"%s"},"g":{"S":"%s"}}}`, id, g)); answer != "{}" {
			t.Fatal(answer)
		}
	}
	// wantFromBoth checks the answers of both services, twice, so that they are cached.
	wantFromBoth := func(operation, body, want string) {
		t.Helper()
		for _, service := range []string{"orders", "audit", "orders", "audit"} {
			if how, answer := r.signedAsk(service, operation, body); !strings.Contains(answer, want) {
				t.Errorf("%s at %s: got %s %s, want %s", operation, service, how, answer, want)
			}
		}
	}
	r.signedAsk("orders", "CreateTable", `{"TableName":"tab","BillingMode":"PAY_PER_REQUEST","KeySchema":[{"AttributeName":"id","KeyType":"HASH"}],
		"AttributeDefinitions":[{"AttributeName":"id","AttributeType":"S"},{"AttributeName":"g","AttributeType":"S"}],
		"GlobalSecondaryIndexes":[{"IndexName":"byg","KeySchema":[{"AttributeName":"g","KeyType":"HASH"}],"Projection":{"ProjectionType":"ALL"}}]}`)
	for _, writer := range []string{"orders", "audit"} {
		put(writer, "1", "x")
		wantFromBoth("GetItem", get, `"x"`)
		wantFromBoth("Query", query, `"x"`)
		wantFromBoth("Query", index, `"Count":1`)
		if how, _ := r.signedAsk("audit", "Query", index); !strings.Contains(how, "hit") { // the store's indexes never lag
			t.Errorf("a query of the index: got %s, want a hit", how)
		}
		wantFromBoth("GetItem", none, `{}`)
		put(writer, "1", "y")
		wantFromBoth("GetItem", get, `"y"`)
		wantFromBoth("Query", query, `"y"`)
		wantFromBoth("Query", index, `"Count":0`)
		put(writer, "2", "x")
		wantFromBoth("GetItem", none, `"x"`)
		wantFromBoth("Query", index, `"Count":1`)
		r.signedAsk(writer, "DeleteItem", none)
		wantFromBoth("GetItem", none, `{}`)
		wantFromBoth("Query", index, `"Count":0`)
	}
	// A purge of one service reaches the other.
	wantFromBoth("GetItem", get, `"y"`)
	if how, _ := r.signedAsk("audit", "GetItem", get); !strings.Contains(how, "hit") {
		t.Errorf("before the purge: got %s, want a hit", how)
	}
	var out, errs bytes.Buffer
	args := []string{"purge", "--admin", "http://" + r.AdminAddr().String(), "--service", "orders", "--table", "tab", "--key", `{"id":{"S":"1"}}`}
	if code := Main(args, Environment{Stdout: &out, Stderr: &errs, Lookup: os.LookupEnv}); code != 0 {
		t.Fatalf("%d %s", code, &errs)
	}
	if how, _ := r.signedAsk("audit", "GetItem", get); strings.HasPrefix(how, "kasoku; hit") {
		t.Errorf("after a purge through the other service: got %s", how)
	}
	// One service moves to another store and back.
	r.mustReload(head + service("orders", dir+"2", "item_ttl: 5m") + audit)
	if _, answer := r.signedAsk("orders", "GetItem", get); !strings.Contains(answer, "ResourceNotFoundException") {
		t.Errorf("got %s from the other store", answer)
	}
	put("audit", "1", "z")
	r.mustReload(head + service("orders", dir, "item_ttl: 5m") + audit)
	wantFromBoth("GetItem", get, `"z"`)
	put("orders", "1", "w")
	wantFromBoth("GetItem", get, `"w"`)
}
