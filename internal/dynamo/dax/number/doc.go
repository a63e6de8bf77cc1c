// Package number translates numbers between DynamoDB's text and the forms that they
// have in the DAX protocol.
//
// A number is a decimal. In values DAX writes it as an integer, as an integer of any
// length, as a mantissa with a power of ten, or (some clients) as a double that stands
// for its shortest decimal text. One number has many forms, so bytes of numbers must
// not be compared. In sort keys it is written so that bytes order as the numbers do
// (ordered.go).
package number
