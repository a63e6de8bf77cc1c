// Package value holds DynamoDB's attribute values as trees: it reads and checks them as the
// service does, and encodes, measures, compares and orders them.
//
// Values are immutable by convention: a caller that changes an item makes a new tree, which
// shares the unchanged parts with the old one.
package value
