// Package kasokutest runs a DynamoDB-compatible store inside a Go test: there is nothing to
// install, start or clean up.
//
//	func TestOrders(t *testing.T) {
//		db := kasokutest.Start(t).Client()
//		...
//	}
//
// The store is that of Kasoku in memory. It has tables, indexes, streams, transactions and
// PartiQL, and the service's limits and texts of errors. Clients from [Store.Client] and
// [Store.Config] call it directly, without a network; for other processes [Store.Endpoint]
// listens on loopback.
//
// # Parallel tests
//
// [Store.Fork] gives each test a store of its own that begins with the contents of another,
// in a fraction of a millisecond however many items that has:
//
//	seeded := kasokutest.Start(t)
//	fill(seeded.Client())
//	for _, test := range tests {
//		t.Run(test.name, func(t *testing.T) {
//			t.Parallel()
//			db := seeded.Fork(t).Client()
//			...
//		})
//	}
//
// A store may be used by several goroutines.
package kasokutest
