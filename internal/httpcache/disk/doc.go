// Package disk keeps bodies in files: up to a bound, past the end of the
// process, and so that what is damaged is noticed before anybody gets it. It
// knows bytes, keys and room, and nothing of HTTP.
//
// # Files
//
// A directory belongs to one [Tier] at a time, which a lock on its file "lock"
// sees to. Each [Part] of it has a directory of its own below. A body with a
// name of 16 hexadecimal digits, which are drawn and never used again, is two
// files there:
//
//   - name.body: the body; a CRC-32C (Castagnoli) for each 64 KiB of it; and one
//     of these, the name and the length.
//   - name.head: what the body is, in an envelope with its length, its name and a
//     CRC-32C over everything.
//
// Integers are little-endian. The head is written to name.tmp and renamed, as
// the last step: without a head there is no body. So a crash at any point leaves
// a body whole or out of reach, and a body is taken out of reach by removing its
// head. Files that have other names are left alone.
//
// # What survives
//
// The end of the process: everything that was committed. A crash of the machine:
// what the system had written by then. Bodies are not synced, since a damaged one
// costs no more than a request to the origin: their checksums tell. What was
// dropped or made stale before [Part.Sync] returned without an error stays so,
// however the machine crashes.
//
// # What is damaged
//
// Opening a part reads every head and the length of every body, and removes what
// does not fit together. The bytes of a body are held against their checksums each
// time that they are read.
//
// # Trouble
//
// An error of the file system ends the body that is being written, and the tier
// takes no new ones for a while. What is on disk is read on.
package disk
