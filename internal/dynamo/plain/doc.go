// Package plain serves the HTTP routes of bbpd in front of a dynamodb service. The path
// selects the operation, and on four of the routes items are plain JSON, without the type of
// each value. Requests are forwarded to the service, which applies its cache and
// permissions. Its replies are converted to the form of the route.
//
// # The life of a request
//
//	find a route            none: forward to the service unchanged
//	method, origin          405, 403
//	service.Admit           verifies the signature of the request as it was sent
//	route.serve             one or several operations on behalf of the client
//	formatReply             envelope, indentation, JSONP callback, statistics
//
// A request with one operation is served in its own exchange, so that a hit doesn't
// allocate. A batch that has to be split uses separate exchanges, several at a time.
//
// # Files
//
// handler.go, route.go and task.go implement that life; typed.go, untyped.go and set.go
// convert values; item.go has PutItemJSON and GetItemJSON; batch.go, segment.go, merge.go
// and capacity.go serve batches of any size; tables.go and tablewait.go have the operations
// on tables; format.go and status.go have bbpd's own formats; callback.go has JSONP.
package plain
