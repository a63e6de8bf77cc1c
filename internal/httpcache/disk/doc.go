// Package disk stores bodies in files: within a size bound, across restarts, and with
// checksums that detect damage before data is returned. It handles bytes, keys and space,
// and is independent of HTTP.
//
// # Files
//
// A directory belongs to one [Tier] at a time, which is enforced by a lock on its file
// ".lock". Each [Part] has a subdirectory. A body has a random, unique name of 16
// hexadecimal digits and two files:
//
//   - name.body: the body; a CRC-32C (Castagnoli) for each 64 KiB of it; and a CRC-32C of
//     these, the name and the length.
//   - name.head: the description of the body, in an envelope with its length, its name and
//     a CRC-32C over everything.
//
// Integers are little-endian. The head is written to name.tmp and renamed, as the last step:
// a body without a head does not exist. So after a crash at any point a body is either
// complete or unreachable, and a body is deleted by removing its head. Files with other
// names are ignored.
//
// # Durability
//
// The end of the process: everything that was committed. A crash of the machine: everything
// that the system had written by then. Bodies are not synced, because a damaged one costs
// only a request to the origin: the checksums detect it. If [Part.Sync] returns without an
// error, everything dropped or made stale before remains so, however the machine crashes.
//
// # Damage
//
// Opening a part reads every head and the length of every body, and removes inconsistent
// ones. The bytes of a body are compared with their checksums each time they are read.
//
// # Failures
//
// An error of the file system ends the body that is being written, and the tier accepts no
// new ones for a while. Bodies on disk can still be read.
package disk
