package cli

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/dynamo/embedded/disk"
)

// storeNode is a node with services in front of embedded stores.
func storeNode(t *testing.T, services string) *running {
	t.Helper()
	return run(t, "admin: {listen: \"127.0.0.1:0\"}\nservices:\n"+services)
}

// ask sends a request to a service and returns its answer.
func (r *running) ask(service, operation, body string) (cacheStatus, answer string) {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), http.MethodPost, "http://"+r.ServiceAddr(service).String(), strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-amz-json-1.0")
	req.Header.Set("X-Amz-Target", "DynamoDB_20120810."+operation)
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

const (
	createT = `{"TableName":"tab","KeySchema":[{"AttributeName":"id","KeyType":"HASH"}],
 "AttributeDefinitions":[{"AttributeName":"id","AttributeType":"S"}],"BillingMode":"PAY_PER_REQUEST"}`
	getT = `{"TableName":"tab","Key":{"id":{"S":"1"}}}`
)

// TestExpiredItemsLeaveTheCache: items that the store removes because of their time to live
// are no longer served.
func TestExpiredItemsLeaveTheCache(t *testing.T) {
	r := storeNode(t, `  db: {type: dynamodb, listen: "127.0.0.1:0", origin: embedded:data, auth: {mode: none}}`+"\n")
	r.ask("db", "CreateTable", createT)
	r.ask("db", "UpdateTimeToLive", `{"TableName":"tab","TimeToLiveSpecification":{"Enabled":true,"AttributeName":"e"}}`)
	soon := time.Now().Add(2 * time.Second).Unix()
	r.ask("db", "PutItem", fmt.Sprintf(`{"TableName":"tab","Item":{"id":{"S":"1"},"e":{"N":"%d"}}}`, soon))
	how, item := r.ask("db", "GetItem", getT)
	early := time.Now().Unix() < soon // false if the disk was slow
	if early && (!strings.Contains(how, "hit") || !strings.Contains(item, `"e"`)) {
		t.Fatalf("before the expiry: got %s %s", how, item)
	}
	// Each of these is a hit until the store has reported the removal of the item.
	deadline := time.Now().Add(time.Minute)
	for {
		if _, item := r.ask("db", "GetItem", getT); item == "{}" {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the item is served long after its expiry")
		}
	}
}

// TestReloadChangesStores moves a service from one store to another and back.
func TestReloadChangesStores(t *testing.T) {
	const format = head + `  db: {type: dynamodb, listen: "127.0.0.1:0", origin: embedded:%dir, auth: {mode: none}}` + "\n"
	to := func(dir string) string { return strings.ReplaceAll(format, "%dir", dir) }
	r := run(t, to("a"))
	r.ask("db", "CreateTable", createT)
	r.ask("db", "PutItem", `{"TableName":"tab","Item":{"id":{"S":"1"}}}`)
	free := func(dir string) error {
		db, err := disk.Open(filepath.Join(filepath.Dir(r.file), dir), disk.Options{Log: slog.New(slog.DiscardHandler)})
		if err == nil {
			db.Close()
		}
		return err
	}
	if err := free("a"); err == nil {
		t.Fatal("a store in use was opened again")
	}
	r.mustReload(to("b"))
	if _, answer := r.ask("db", "GetItem", getT); !strings.Contains(answer, "ResourceNotFoundException") {
		t.Errorf("got %s from the other store", answer)
	}
	if err := free("a"); err != nil {
		t.Errorf("opening the store that is no longer used: got error %v", err)
	}
	r.mustReload(to("a"))
	if _, answer := r.ask("db", "GetItem", getT); answer != `{"Item":{"id":{"S":"1"}}}` {
		t.Errorf("got %s from the first store after the return", answer)
	}
	r.mustReload(strings.Replace(to("a"), "auth:", "item_ttl: 1m, auth:", 1))
	if _, answer := r.ask("db", "GetItem", getT); answer != `{"Item":{"id":{"S":"1"}}}` {
		t.Errorf("got %s after a reload without another store", answer)
	}
	r.mustReload(strings.Replace(to("a"), "auth:", "sync: false, auth:", 1))
	if page := r.page("/api/v1/config"); !strings.Contains(page, "services.db.origin") {
		t.Errorf("the pending restart for sync is not reported: %s", page)
	}
	if err := r.reload(to("a/../kasoku.yaml")); err == nil {
		t.Error("a file was opened as a store")
	}
	if _, answer := r.ask("db", "GetItem", getT); answer != `{"Item":{"id":{"S":"1"}}}` {
		t.Errorf("got %s after a refused reload", answer)
	}
}

// TestStoreInUse checks the error of a second Kasoku in one folder.
func TestStoreInUse(t *testing.T) {
	r := storeNode(t, `  db: {type: dynamodb, listen: "127.0.0.1:0", origin: embedded:data, auth: {mode: none}}`+"\n")
	var errs bytes.Buffer
	code := Main([]string{"serve", "-c", r.file}, Environment{Stdout: &errs, Stderr: &errs, Lookup: func(string) (string, bool) { return "", false }})
	if code != codeStart || !strings.Contains(errs.String(), filepath.Join(filepath.Dir(r.file), "data")) {
		t.Errorf("code %d: %s", code, &errs)
	}
}

// TestDamagedStore flips one bit near the end of a store's manifest. The start is refused
// with the name of the file and a remedy, and the directory is unchanged.
func TestDamagedStore(t *testing.T) {
	dir := t.TempDir()
	service := `  db: {type: dynamodb, listen: "127.0.0.1:0", origin: "embedded:` + dir + `", auth: {mode: none}}` + "\n"
	file := filepath.Join(t.TempDir(), "kasoku.yaml")
	t.Run("fill", func(t *testing.T) {
		r := storeNode(t, service)
		r.ask("db", "CreateTable", createT)
		for i := range 50 {
			r.ask("db", "PutItem", fmt.Sprintf(`{"TableName":"tab","Item":{"id":{"S":"%d"}}}`, i))
		}
	})
	t.Run("open again", func(t *testing.T) { storeNode(t, service) })
	manifests, err := filepath.Glob(filepath.Join(dir, "MANIFEST-*"))
	if err != nil || len(manifests) == 0 {
		t.Fatal(manifests, err)
	}
	manifest := slices.Max(manifests)
	text, err := os.ReadFile(manifest)
	if err != nil {
		t.Fatal(err)
	}
	text[len(text)-20] ^= 1
	if err := os.WriteFile(manifest, text, 0o600); err != nil {
		t.Fatal(err)
	}
	before, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("admin: {listen: \"127.0.0.1:0\"}\nservices:\n"+service), 0o600); err != nil {
		t.Fatal(err)
	}
	var errs bytes.Buffer
	signals := make(chan os.Signal, 1)
	code := Main([]string{"serve", "-c", file}, Environment{Stdout: &errs, Stderr: &errs, Signals: signals,
		Lookup: func(string) (string, bool) { return "", false }, Started: func(*Node) { signals <- syscall.SIGTERM }})
	if code != codeStart || !strings.Contains(errs.String(), manifest) || !strings.Contains(errs.String(), "restore the directory from a copy") {
		t.Errorf("code %d: %s", code, &errs)
	}
	if after, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || !slices.Equal(after, before) {
		t.Errorf("the directory holds %v, it held %v: %v", after, before, err)
	}
}

// TestStoresInMemory checks that each service has a memory of its own, which it keeps through
// reloads, and that nothing is written to disk.
func TestStoresInMemory(t *testing.T) {
	const services = `  one: {type: dynamodb, listen: "127.0.0.1:0", dax: "127.0.0.1:0", origin: embedded:memory, auth: {mode: none}}
  two: {type: dynamodb, listen: "127.0.0.1:0", dax: "127.0.0.1:0", origin: embedded:memory, auth: {mode: none}}
`
	r := run(t, head+services)
	r.ask("one", "CreateTable", createT)
	r.ask("one", "PutItem", `{"TableName":"tab","Item":{"id":{"S":"1"}}}`)
	if _, answer := r.ask("two", "ListTables", `{}`); answer != `{"TableNames":[]}` {
		t.Errorf("the other service has %s", answer)
	}
	r.mustReload(head + strings.ReplaceAll(services, "auth:", "item_ttl: 0s, auth:"))
	if _, answer := r.ask("one", "GetItem", getT); answer != `{"Item":{"id":{"S":"1"}}}` {
		t.Errorf("after a reload: got %s", answer)
	}
	if files, err := filepath.Glob(filepath.Join(filepath.Dir(r.file), "*")); err != nil || !slices.Equal(files, []string{r.file}) {
		t.Errorf("files: %v, %v", files, err)
	}
	r.mustReload(head + strings.Replace(services, "embedded:memory", "embedded:./memory", 1))
	if _, answer := r.ask("one", "ListTables", `{}`); answer != `{"TableNames":[]}` {
		t.Errorf("the store in the directory memory has %s", answer)
	}
	r.mustReload(head + services)
	if _, answer := r.ask("one", "ListTables", `{}`); answer != `{"TableNames":[]}` {
		t.Errorf("a new store in memory has %s", answer)
	}
}

// TestRestoreDropsTheCache restores a snapshot while items are read and cached all the time: a read
// that begins afterwards has the restored item.
func TestRestoreDropsTheCache(t *testing.T) {
	r := storeNode(t, `  db: {type: dynamodb, listen: "127.0.0.1:0", origin: embedded:memory, auth: {mode: none}}`+"\n")
	r.ask("db", "CreateTable", createT)
	r.ask("db", "PutItem", `{"TableName":"tab","Item":{"id":{"S":"1"}}}`)
	store := r.embeddedStores()[r.find("db").service]
	if err := store.Save(t.Context(), "s"); err != nil {
		t.Fatal(err)
	}
	var stop atomic.Bool
	var readers sync.WaitGroup
	for range 3 {
		readers.Go(func() {
			for !stop.Load() {
				r.ask("db", "GetItem", getT)
			}
		})
	}
	for range 100 {
		r.ask("db", "PutItem", `{"TableName":"tab","Item":{"id":{"S":"1"},"n":{"N":"2"}}}`)
		if err := store.Restore(t.Context(), "s"); err != nil {
			t.Error(err)
		}
		if how, item := r.ask("db", "GetItem", getT); item != `{"Item":{"id":{"S":"1"}}}` {
			t.Errorf("after a restore: got %s %s", how, item)
		}
	}
	stop.Store(true)
	readers.Wait()
}
