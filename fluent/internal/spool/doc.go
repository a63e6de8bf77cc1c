// Package spool keeps opaque payloads on disk, first in first out, until they
// are done. It is bounded, survives crashes, and loses what is damaged and
// nothing else.
//
// # Use
//
// One goroutine appends; any number take payloads with Next and report them
// with Done, in any order. A payload that was taken but isn't done when the
// spool is closed, or the process dies, is given again after the next Open.
//
// # Files
//
// A directory belongs to one Spool at a time, which a lock on the file "lock"
// sees to. Payloads are in segments, files of up to 4 MiB (an eighth of
// Options.MaxBytes, if that is less) named by a rising number in 16 hexadecimal
// digits and ".spool", so that their names sort in the order they were
// written. A segment is written by the process that made it and by none later;
// it is removed as soon as all of it is done. Other files are left alone.
//
// A segment begins with 24 bytes: "fluspool", the format's version (uint32),
// the segment's number (uint64) and a CRC-32C of these. In front of each
// payload stand 28 bytes: 0xf5 "FSP", the payload's length, its records, the
// payloads and the records before it in the segment, the payload's CRC-32C,
// and a CRC-32C of the header, the segment's number and the header's offset:
// bytes of a payload that look like a header aren't taken for one. All
// integers are little-endian and, where nothing else is said, 32 bits wide.
// All versions of the format begin with the same 24 bytes; a segment of a newer
// version makes Open fail, and stays as it is.
//
// # What survives
//
// What Append accepted survives the end of the process, however it ends. A
// crash of the machine it survives once it was synced: before Append returns
// with SyncAlways, after at most the interval with an interval, and when Sync
// returned nil in every case. A segment that failed to sync is written to no
// more, and Sync fails as long as it exists: the system may have dropped its
// pages, so that a later fsync that succeeds means nothing.
//
// Progress is one position, in front of the oldest payload that isn't done. It
// is kept in the file "progress", in two slots that are written in turn, at the
// price of one write of 40 bytes for each Done that moves it. After a crash of
// the process just what was taken or done behind that position is given
// again: less than the caller had out at a time. After a crash of the machine,
// what was done since progress was last synced is given again too: that is
// done with each segment's removal with SyncAlways, after the interval with an
// interval, and in Sync.
//
// # What is lost
//
// A payload that fails its checksum is skipped. Where a header is damaged,
// reading goes on at the next header that is whole. What can't be read is
// skipped by blocks of 4 KiB. All that is counted, in bytes and, as headers
// tell, in payloads and records. A torn end, which a crash in Append leaves, is
// cut off.
package spool
