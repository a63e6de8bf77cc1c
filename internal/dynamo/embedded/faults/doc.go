// Package faults decides which requests to a store fail, and how: a Plan describes the faults,
// and a Set made from it decides for one request after the other.
//
// The decisions are seeded: the same plan and the same sequence of requests give the same
// faults. A rule draws from a generator of its own, so that another rule changes nothing for it.
//
// The store injects the faults: package faults sends nothing and waits for nothing.
package faults
