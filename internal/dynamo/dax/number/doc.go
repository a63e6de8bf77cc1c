// Package number converts numbers between DynamoDB's text and the formats of the DAX
// protocol.
//
// A number is a decimal. In values, DAX writes it as an integer, as an integer of arbitrary
// length, as a mantissa with a power of ten, or (some clients) as a double that represents
// its shortest decimal text. A number has many encodings, so encoded numbers must not be
// compared. In sort keys it has an encoding that sorts as the numbers do (ordered.go).
package number
