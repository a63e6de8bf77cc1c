package top

import (
	"context"

	"github.com/kasoku/kasoku/internal/admin"
)

// Source is a running Kasoku. Its methods are called concurrently.
type Source interface {
	// Address returns the address of the admin API, for people.
	Address() string
	// Report returns the state of the process, with histograms.
	Report(ctx context.Context) (*admin.ReportJSON, error)
	// Keys returns the keys of a table with the highest counts and its throttled requests, for a
	// service without tables its own with table "". The result is nil if there are none.
	Keys(ctx context.Context, service, table string) (*admin.TableKeys, error)
	// Explain explains a request of a client to a service. The line is an operation of DynamoDB
	// with a table and a key, or a URL.
	Explain(ctx context.Context, service, line string) (*admin.Explanation, error)
}
