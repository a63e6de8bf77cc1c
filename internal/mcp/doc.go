// Package mcp is a server of the Model Context Protocol, with tools for a DynamoDB-compatible
// store and the admin API of a running Kasoku.
//
// Without permission to write, it offers tools that read, and put_item as a dry run. Results
// are bounded in items and bytes, and have the key from which the next call continues.
package mcp
