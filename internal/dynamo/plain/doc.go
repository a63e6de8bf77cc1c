// Package plain is the routes of bbpd before a dynamodb service: an operation is
// chosen by the path, and on four of the routes items are plain JSON, without the
// type of each value. What is asked goes to the service, which answers it from its
// cache, under its permissions; what it answers comes back in the route's form.
//
// # The life of a request
//
//	find a route            none: the service's own business
//	method, origin          405, 403
//	service.Admit           the signature covers the request as it was sent
//	route.serve             one operation or several, asked in the client's name
//	dress                   envelope, indentation, the call of a callback, statistics
//
// A request that asks for one operation is answered in its own exchange, so that a
// hit costs no memory. A batch that has to be split asks in exchanges of its own,
// several at a time.
//
// # Files
//
// handler.go, route.go and task.go are that life; typed.go, untyped.go and set.go
// translate values; item.go has PutItemJSON and GetItemJSON; batch.go, segment.go,
// merge.go and tally.go batches of any size; tables.go and creating.go what is about
// tables; dress.go and status.go what only bbpd has; callback.go JSONP.
package plain
