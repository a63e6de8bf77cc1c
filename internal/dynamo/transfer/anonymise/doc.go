// Package anonymise replaces attribute values of items by rules: with keyed hashes, masks,
// invented values and constants, or not at all.
//
// Hashes and invented values depend on the secret and the value alone, not on the table, the
// attribute or the run. So equal values remain equal, in whichever tables they are, and
// references between items keep matching.
package anonymise
