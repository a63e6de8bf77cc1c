// Package value holds DynamoDB's attribute values as trees: it reads and checks
// them as the service does, writes, measures, compares and orders them.
//
// Values are immutable by convention: whoever changes an item makes a new tree
// and shares with the old one what stays as it is.
package value
