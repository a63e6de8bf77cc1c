// Package wire reads and writes DynamoDB's JSON as text. It scans, compares, canonicalises
// and edits byte slices and never builds a tree of objects, so that a cache hit doesn't
// allocate.
//
// Valid takes any text. All other functions expect text that Valid has accepted. On other
// text they don't panic and don't read outside the slice, but their results are meaningless.
//
// Functions that inspect a request return false for everything that they don't fully
// understand. This is not an error: the caller forwards such a request to the origin.
package wire
