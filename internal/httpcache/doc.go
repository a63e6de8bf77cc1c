// Package httpcache is a caching reverse proxy according to RFC 9111. A [Service] handles
// the exchanges of an edge.Server: it answers from what is stored, or asks an origin.
//
// Its parts are packages of their own: policy has the rules of the RFC as functions, store
// the stored responses, flight the requests to the origin that several clients share, coding
// the content codings, and disk the files.
//
// A service for another protocol extends the handler by three methods: [Service.Read]
// answers a request under the key and the options of a [Plan], [Service.Pass] forwards one
// without storing the answer, and [Service.Ask] sends a request of its own.
//
// A service that keeps answers elsewhere, for example in memcached, sets [Plan.Shared]: its
// functions join a flight of [Service.Flights] for a request and make the flight's answer.
package httpcache
