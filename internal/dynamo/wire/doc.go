// Package wire reads and writes DynamoDB's JSON as text: it scans, compares,
// canonicalises and edits byte slices and never builds a tree of objects, so
// that an exchange which the cache answers costs no allocation.
//
// Text comes in two grades. Valid takes anything. Everything else expects text
// that Valid has accepted: on other text the functions neither panic nor read
// outside the slice, but what they return means nothing.
//
// Functions that judge a request return false for everything that they don't
// understand completely. The caller passes such a request to the origin, which
// knows better; false is never an error by itself.
package wire
