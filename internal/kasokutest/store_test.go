package kasokutest_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/kasoku/kasoku/internal/kasokutest"
)

// createMusic creates a table with the key Artist.
func createMusic(t testing.TB, db *dynamodb.Client) {
	t.Helper()
	_, err := db.CreateTable(t.Context(), &dynamodb.CreateTableInput{
		TableName: aws.String("Music"), BillingMode: types.BillingModePayPerRequest,
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("Artist"), KeyType: types.KeyTypeHash}},
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("Artist"), AttributeType: types.ScalarAttributeTypeS}},
	})
	if err != nil {
		t.Fatal(err)
	}
}

func put(t testing.TB, db *dynamodb.Client, artist, song string) {
	t.Helper()
	_, err := db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String("Music"), Item: map[string]types.AttributeValue{
		"Artist": &types.AttributeValueMemberS{Value: artist}, "Song": &types.AttributeValueMemberS{Value: song},
	}})
	if err != nil {
		t.Fatal(err)
	}
}

// songOf returns the song of an artist, empty if there is none.
func songOf(t testing.TB, db *dynamodb.Client, artist string) string {
	t.Helper()
	got, err := db.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: aws.String("Music"),
		Key: map[string]types.AttributeValue{"Artist": &types.AttributeValueMemberS{Value: artist}}})
	if err != nil {
		t.Fatal(err)
	}
	song, _ := got.Item["Song"].(*types.AttributeValueMemberS)
	if song == nil {
		return ""
	}
	return song.Value
}

// TestClients stores an item with the client of a store, and reads it with all kinds of clients.
func TestClients(t *testing.T) {
	s := kasokutest.Start(t, kasokutest.Region("eu-west-1"))
	createMusic(t, s.Client())
	put(t, s.Client(), "Perfume", "Polyrhythm")
	endpoint, err := s.Endpoint()
	if err != nil {
		t.Fatal(err)
	}
	network := s.Config()
	network.HTTPClient, network.BaseEndpoint = nil, aws.String(endpoint)
	for name, db := range map[string]*dynamodb.Client{
		"direct":  s.Client(),
		"config":  dynamodb.NewFromConfig(s.Config()),
		"network": dynamodb.NewFromConfig(network),
	} {
		if got := songOf(t, db, "Perfume"); got != "Polyrhythm" {
			t.Errorf("%s: got the song %q", name, got)
		}
		_, err := db.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: aws.String("none")})
		if _, ok := errors.AsType[*types.ResourceNotFoundException](err); !ok {
			t.Errorf("%s: a missing table: %v", name, err)
		}
	}
	table, err := s.Client().DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: aws.String("Music")})
	if err != nil || !strings.HasPrefix(*table.Table.TableArn, "arn:aws:dynamodb:eu-west-1:") {
		t.Errorf("got %v, %v", table, err)
	}
	status, answer, err := s.Do("GetItem", []byte(`{"TableName":"Music","Key":{"Artist":{"S":"Perfume"}},"ProjectionExpression":"Song"}`))
	if err != nil || status != 200 || string(answer) != `{"Item":{"Song":{"S":"Polyrhythm"}}}` {
		t.Errorf("got %d %s %v", status, answer, err)
	}
	resp, err := s.HTTPClient().Get("http://anywhere/")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if page, err := io.ReadAll(resp.Body); err != nil || !strings.HasPrefix(string(page), "healthy: ") {
		t.Errorf("got %s, %v", page, err)
	}
}

// TestCanceled checks that a request whose context has ended is not executed.
func TestCanceled(t *testing.T) {
	s := kasokutest.Start(t)
	createMusic(t, s.Client())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.Client().DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: aws.String("Music")})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if got := songOf(t, s.Client(), "Perfume"); got != "" {
		t.Errorf("got the song %q", got)
	}
}

// TestSnapshots resets and restores a store.
func TestSnapshots(t *testing.T) {
	s := kasokutest.Start(t)
	db := s.Client()
	createMusic(t, db)
	put(t, db, "Perfume", "Polyrhythm")
	if err := s.Snapshot("prepared"); err != nil {
		t.Fatal(err)
	}
	put(t, db, "Perfume", "Flash")
	for _, change := range []func() error{func() error { return nil }, s.Reset} {
		if err := errors.Join(change(), s.Restore("prepared")); err != nil {
			t.Fatal(err)
		}
		if got := songOf(t, db, "Perfume"); got != "Polyrhythm" {
			t.Errorf("got the song %q", got)
		}
	}
	if err := s.Restore("none"); err == nil {
		t.Error("a missing snapshot was restored")
	}
}

// TestForks forks a store a thousand times at once. Each fork has the parent's items and none of
// the others', and all of them need little memory.
func TestForks(t *testing.T) {
	before := heap()
	parent := kasokutest.Start(t)
	createMusic(t, parent.Client())
	put(t, parent.Client(), "Perfume", "Polyrhythm")
	var forks sync.WaitGroup
	for n := range 1000 {
		forks.Go(func() {
			s := parent.Fork(t)
			own := fmt.Sprint(n)
			for operation, body := range map[string]string{
				"PutItem":    `{"TableName":"Music","Item":{"Artist":{"S":"own"},"Song":{"S":"` + own + `"}}}`,
				"DeleteItem": `{"TableName":"Music","Key":{"Artist":{"S":"Perfume"}}}`,
			} {
				if status, answer, err := s.Do(operation, []byte(body)); status != 200 || err != nil {
					t.Errorf("%s: %d %s %v", operation, status, answer, err)
				}
			}
			if _, answer, err := s.Do("Scan", []byte(`{"TableName":"Music","ProjectionExpression":"Song"}`)); err != nil ||
				string(answer) != `{"Items":[{"Song":{"S":"`+own+`"}}],"Count":1,"ScannedCount":1}` {
				t.Errorf("fork %d has %s, %v", n, answer, err)
			}
		})
	}
	forks.Wait()
	if used := heap() - before; used > 64<<20 {
		t.Errorf("a thousand forks use %d bytes", used)
	}
	if got := songOf(t, parent.Client(), "Perfume") + songOf(t, parent.Client(), "own"); got != "Polyrhythm" {
		t.Errorf("the parent has the songs %q", got)
	}
}

// heap returns the number of bytes in use.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}

// TestClosed checks that a closed store refuses requests, and that its endpoint is closed.
func TestClosed(t *testing.T) {
	s, err := kasokutest.New()
	if err != nil {
		t.Fatal(err)
	}
	endpoint, err := s.Endpoint()
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	s.Close()
	if _, _, err := s.Do("ListTables", []byte(`{}`)); err == nil {
		t.Error("a closed store has answered")
	}
	if _, err := s.SplitShards(); err == nil {
		t.Error("a closed store has split shards")
	}
	if resp, err := http.Get(endpoint); err == nil {
		resp.Body.Close()
		t.Error("a closed endpoint has answered")
	}
}

func BenchmarkGetItem(b *testing.B) {
	s := kasokutest.Start(b)
	createMusic(b, s.Client())
	put(b, s.Client(), "Perfume", "Polyrhythm")
	b.Run("Do", func(b *testing.B) {
		body := []byte(`{"TableName":"Music","Key":{"Artist":{"S":"Perfume"}}}`)
		for b.Loop() {
			if status, _, err := s.Do("GetItem", body); status != 200 || err != nil {
				b.Fatal(status, err)
			}
		}
	})
	b.Run("Client", func(b *testing.B) {
		db := s.Client()
		for b.Loop() {
			songOf(b, db, "Perfume")
		}
	})
}

func BenchmarkFork(b *testing.B) {
	s := kasokutest.Start(b)
	createMusic(b, s.Client())
	put(b, s.Client(), "Perfume", "Polyrhythm")
	for b.Loop() {
		s.Fork(forkTB{b}).Close()
	}
}

// forkTB keeps no cleanup functions.
type forkTB struct{ testing.TB }

func (forkTB) Cleanup(func()) {}
