// Package dax checks that unmodified DAX clients receive the same answers from Kasoku as the
// corresponding SDKs from DynamoDB. A program in each language reads the steps in steps/ and
// executes each one with the DAX client and, on separate tables with the same contents, with
// the SDK itself; the answers are then compared. Differences caused by the clients
// themselves are listed in traits.go; there must be no others.
package dax
