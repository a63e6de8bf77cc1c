package encode

import (
	"errors"
	"net/netip"
	"testing"
	"time"

	"github.com/tinylib/msgp/msgp"
)

// access is a record of twelve fields, as an access log has them.
type access struct {
	Time      time.Time     `fluent:"time"`
	Host      string        `fluent:"host"`
	Method    string        `fluent:"method"`
	Path      string        `fluent:"path"`
	Query     string        `fluent:"query,omitempty"`
	Status    int           `fluent:"status"`
	BytesIn   int64         `fluent:"bytes_in"`
	BytesOut  int64         `fluent:"bytes_out"`
	Duration  time.Duration `fluent:"duration"`
	Agent     string        `fluent:"agent"`
	RequestID string        `fluent:"request_id"`
	TLS       bool          `fluent:"tls"`
}

// fixedAccess is the same with nothing to leave out and the time as a number.
type fixedAccess struct {
	Time      int64         `fluent:"time"`
	Host      string        `fluent:"host"`
	Method    string        `fluent:"method"`
	Path      string        `fluent:"path"`
	Query     string        `fluent:"query"`
	Status    int           `fluent:"status"`
	BytesIn   int64         `fluent:"bytes_in"`
	BytesOut  int64         `fluent:"bytes_out"`
	Duration  time.Duration `fluent:"duration"`
	Agent     string        `fluent:"agent"`
	RequestID string        `fluent:"request_id"`
	TLS       bool          `fluent:"tls"`
}

var (
	anAccess = access{
		Time: time.Unix(1700000000, 123456789).UTC(), Host: "db.example.com", Method: "POST", Path: "/tables/users/items",
		Query: "consistent=1", Status: 200, BytesIn: 412, BytesOut: 18231, Duration: 1834 * time.Microsecond,
		Agent: "aws-sdk-go-v2/1.47.6 os/linux lang/go", RequestID: "0f3b2c1d9e8a4b5c", TLS: true,
	}
	aFixedAccess = fixedAccess{
		1700000000123456789, anAccess.Host, anAccess.Method, anAccess.Path, anAccess.Query, anAccess.Status, anAccess.BytesIn,
		anAccess.BytesOut, anAccess.Duration, anAccess.Agent, anAccess.RequestID, anAccess.TLS,
	}
	accessMap = map[string]any{
		"time": int64(1700000000123456789), "host": anAccess.Host, "method": anAccess.Method, "path": anAccess.Path,
		"query": anAccess.Query, "status": anAccess.Status, "bytes_in": anAccess.BytesIn, "bytes_out": anAccess.BytesOut,
		"duration": int64(anAccess.Duration), "agent": anAccess.Agent, "request_id": anAccess.RequestID, "tls": true,
	}
	nestedMap = map[string]any{
		"user":  map[string]any{"id": 17, "name": "Ada", "groups": []string{"admin", "dev"}},
		"tags":  []any{"a", 1, true, nil},
		"level": "info",
	}
)

// byHand is written as a generator would: the least that the bytes can cost.
type byHand fixedAccess

func (a *byHand) appendTo(dst []byte) []byte {
	dst = msgp.AppendMapHeader(dst, 12)
	dst = msgp.AppendInt64(msgp.AppendString(dst, "time"), a.Time)
	dst = msgp.AppendString(msgp.AppendString(dst, "host"), a.Host)
	dst = msgp.AppendString(msgp.AppendString(dst, "method"), a.Method)
	dst = msgp.AppendString(msgp.AppendString(dst, "path"), a.Path)
	dst = msgp.AppendString(msgp.AppendString(dst, "query"), a.Query)
	dst = msgp.AppendInt(msgp.AppendString(dst, "status"), a.Status)
	dst = msgp.AppendInt64(msgp.AppendString(dst, "bytes_in"), a.BytesIn)
	dst = msgp.AppendInt64(msgp.AppendString(dst, "bytes_out"), a.BytesOut)
	dst = msgp.AppendInt64(msgp.AppendString(dst, "duration"), int64(a.Duration))
	dst = msgp.AppendString(msgp.AppendString(dst, "agent"), a.Agent)
	dst = msgp.AppendString(msgp.AppendString(dst, "request_id"), a.RequestID)
	return msgp.AppendBool(msgp.AppendString(dst, "tls"), a.TLS)
}

// BenchmarkAppend also measures msgp's encoder where there is one: the ratio of two rows of
// one run is more meaningful than either of them.
func BenchmarkAppend(b *testing.B) {
	run := func(name string, f func(dst []byte) ([]byte, error)) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			dst := make([]byte, 0, 4096)
			for b.Loop() {
				if _, err := f(dst); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	one := map[string]any{"count": 12345}
	pair := func(name string, m map[string]any) {
		run(name+"/ours", func(dst []byte) ([]byte, error) { return AppendRecord(dst, m) })
		run(name+"/msgp", func(dst []byte) ([]byte, error) { return msgp.AppendMapStrIntf(dst, m) })
	}
	pair("count", one)
	pair("access-map", accessMap)
	pair("nested-map", nestedMap)

	run("access-struct/ours", func(dst []byte) ([]byte, error) { return AppendRecord(dst, &aFixedAccess) })
	hand := byHand(aFixedAccess)
	run("access-struct/msgp", func(dst []byte) ([]byte, error) { return hand.appendTo(dst), nil })
	run("access-struct-omit-time/ours", func(dst []byte) ([]byte, error) { return AppendRecord(dst, &anAccess) })

	mixed := &struct {
		Addr netip.Addr
		Err  error
		By   map[int]string
		IDs  []int64
	}{netip.MustParseAddr("192.0.2.7"), errors.New("no route"), map[int]string{1: "one", 2: "two"}, []int64{1, 2, 3}}
	run("mixed-struct/ours", func(dst []byte) ([]byte, error) { return AppendRecord(dst, mixed) })
}
