// Package dax lets clients of DAX, Amazon's accelerator for DynamoDB, use a dynamodb
// service: with what the service has cached, and what its keys may do.
//
// A connection is served by one goroutine, and an idle one holds nothing but that
// goroutine. Bytes are read into the buffer of a call, which comes from a pool when bytes
// are there; once a request is whole its method answers it, and never before, because
// clients begin requests that they then leave. Buffers grow as bytes come and share a
// bound.
//
// The methods about data translate a request to DynamoDB's own protocol and ask the
// service in the name of the client; what comes back is translated to the reply. The
// others tell a client what it needs to know before: where the nodes are, how a table's
// keys are made, which attributes a number stands for.
//
// Connections are not closed for being idle: clients take that for a failure of their next
// request, or hang. A server that is to stop is first left out of the list of nodes (Drain),
// which clients ask for every few seconds, if there is another node in it. Shutdown then
// closes the connections that are left, one after the other.
package dax
