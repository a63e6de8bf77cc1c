package bucket_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	client "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/kasoku/kasoku/internal/cluster/bucket"
	"github.com/kasoku/kasoku/internal/cluster/nats"
	"github.com/kasoku/kasoku/internal/cluster/protocol"
	"github.com/kasoku/kasoku/internal/testutil/await"
	"github.com/kasoku/kasoku/internal/testutil/viewtest"
)

// deployment returns a server of the user's: "admin" may do everything, and "kasoku" what
// docs/cluster.md lists for a cluster "test" with a bucket "members".
func deployment(t *testing.T, withJetStream bool) *server.Server {
	t.Helper()
	s, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true, JetStream: withJetStream, StoreDir: t.TempDir(),
		Users: []*server.User{
			{Username: "admin", Password: "p"},
			{Username: "kasoku", Password: "p", Permissions: &server.Permissions{
				Publish: &server.SubjectPermission{Allow: []string{
					"kasoku.test.>", "$KV.members.test.>", "$JS.API.STREAM.INFO.KV_members", "$JS.API.STREAM.CREATE.KV_members",
					"$JS.API.STREAM.MSG.GET.KV_members", "$JS.API.DIRECT.GET.KV_members.$KV.members.test.>",
				}},
				Subscribe: &server.SubjectPermission{Allow: []string{"kasoku.test.>"}},
			}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	await.Until(t, func() bool { return s.Addr() != nil })
	return s
}

// deployed returns a store that uses the deployment, as "kasoku".
func deployed(t *testing.T, s *server.Server) *bucket.Store {
	t.Helper()
	transport, err := nats.Start(nats.Config{Cluster: "test", Name: "n", URL: "nats://kasoku:p@" + s.Addr().String()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(transport.Close)
	await.Until(t, func() bool { return transport.Stats().Connected })
	return bucket.New(bucket.Config{Cluster: "test", Bucket: "members", Replicas: 1, Requester: transport.Client()})
}

// keyValue connects to the deployment as its administrator.
func keyValue(t *testing.T, s *server.Server) jetstream.JetStream {
	t.Helper()
	conn, err := client.Connect("nats://admin:p@" + s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	return js
}

func expect(t *testing.T, s *bucket.Store, want protocol.View) {
	t.Helper()
	if v, err := s.Read(t.Context()); err != nil || !reflect.DeepEqual(v, want) {
		t.Errorf("got %+v, %v; want %+v", v, err, want)
	}
}

// fresh returns the view of a bucket that had none, which shows that nothing is in flight.
func fresh(t *testing.T, s *bucket.Store) protocol.View {
	t.Helper()
	v, err := s.Read(t.Context())
	if err != nil || v.Rev != 1 || v.Creator == 0 || !v.Clean || len(v.Members) > 0 {
		t.Fatalf("got %+v, %v", v, err)
	}
	return v
}

// TestDeployment lets Kasoku create the bucket, reads it with NATS' own client, and deletes the view
// with it.
func TestDeployment(t *testing.T) {
	d := deployment(t, true)
	s := deployed(t, d)
	if err := s.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	first := fresh(t, s)
	if err := deployed(t, d).Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	expect(t, s, first)
	next := viewtest.Members(2, "a")
	next.Creator = first.Creator
	if err := s.Write(t.Context(), 1, next); err != nil {
		t.Fatal(err)
	}
	kv, err := keyValue(t, d).KeyValue(t.Context(), "members")
	if err != nil {
		t.Fatal(err)
	}
	entry, err := kv.Get(t.Context(), "test.view")
	if err != nil || !strings.Contains(string(entry.Value()), `"node":{"S":"a"}`) {
		t.Fatalf("got %v, %v", entry, err)
	}
	for _, remove := range []func() error{
		func() error { return kv.Delete(t.Context(), "test.view") },
		func() error { return kv.Purge(t.Context(), "test.view") },
	} {
		if err := remove(); err != nil {
			t.Fatal(err)
		}
		expect(t, s, protocol.View{})
		if err := s.Write(t.Context(), 0, viewtest.Members(1, "b")); err != nil {
			t.Fatal(err)
		}
		expect(t, s, viewtest.Members(1, "b"))
	}
}

// TestBucketOfUsers uses buckets that were created with NATS' own client.
func TestBucketOfUsers(t *testing.T) {
	for want, c := range map[string]jetstream.KeyValueConfig{
		"":                  {History: 5, Storage: jetstream.FileStorage},
		"its values expire": {TTL: time.Hour},
		"it is in memory":   {Storage: jetstream.MemoryStorage},
	} {
		t.Run(want, func(t *testing.T) {
			d := deployment(t, true)
			c.Bucket = "members"
			if _, err := keyValue(t, d).CreateKeyValue(t.Context(), c); err != nil {
				t.Fatal(err)
			}
			s := deployed(t, d)
			err := s.Prepare(t.Context())
			if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Fatalf("got %v, want %s", err, want)
			}
			if err != nil {
				return
			}
			v := fresh(t, s)
			for ; v.Rev < 10; v.Rev++ {
				next := v
				next.Rev++
				if err := s.Write(t.Context(), v.Rev, next); err != nil {
					t.Fatal(err)
				}
			}
			expect(t, s, v)
		})
	}
}

func TestDeploymentWithoutJetStream(t *testing.T) {
	s := deployed(t, deployment(t, false))
	if err := s.Prepare(t.Context()); err == nil || !strings.Contains(err.Error(), "JetStream is off") {
		t.Errorf("got %v", err)
	}
}
