// Package dax proves that unchanged DAX clients get from Kasoku what the SDKs that they
// stand in for get from DynamoDB. A program in each language reads the steps in steps/ and
// does each with the DAX client and, on tables of their own with the same contents, with the
// SDK itself; then the answers are compared, one by one. What the clients themselves make
// different is listed in traits.go, and nothing else may differ.
package dax
