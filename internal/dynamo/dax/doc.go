// Package dax serves clients of DAX, Amazon's accelerator for DynamoDB, with a dynamodb
// service, its cache and its permissions.
//
// A connection is served by one goroutine, and an idle one holds no other resources. Bytes
// are read into the buffer of a call, which is taken from a pool when bytes arrive. A
// request is executed only when it is complete, because clients abandon requests that they
// have begun. Buffers grow as bytes arrive and share a limit.
//
// The methods for data translate a request to DynamoDB's own protocol, send it to the
// service on behalf of the client, and translate the response to the reply. The other
// methods return information that a client needs first: the addresses of the nodes, the key
// schemas of tables, and the attribute lists.
//
// Idle connections are not closed, because clients treat that as a failure of their next
// request, or hang. A server that is about to stop is first removed from the list of nodes
// (Drain), which clients fetch every few seconds, if the list has another node. Shutdown
// then closes the remaining connections one after the other.
package dax
