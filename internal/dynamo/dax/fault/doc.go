// Package fault writes errors as DAX clients read them.
//
// An error reply is three CBOR values: an array of codes, a text, and null or an
// array of what is known beside it. The first code is the class of the error, which
// says who is to blame and whether to try again; those that follow name the error
// from the general to the particular. Clients look up the exception that they raise
// by the codes, or, where they don't know them, by the error's name in the details.
//
//	[4, 37, 38, 39, 43] "The conditional request failed" [request id, "ConditionalCheckFailedException", 400]
package fault
