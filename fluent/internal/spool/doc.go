// Package spool keeps opaque payloads on disk, first in first out, until they are done. It
// is bounded, survives crashes, and loses only damaged payloads.
//
// # Use
//
// One goroutine appends; any number take payloads with Next and complete them with Done, in
// any order. A payload that was taken but not done when the spool is closed, or the process
// dies, is returned again after the next Open:
//
//	s, _, err := spool.Open(dir, spool.Options{})
//	err = s.Append(payload, 1)
//	id, payload, err := s.Next()
//	s.Done(id)
//
// # Files
//
// A directory belongs to one Spool at a time, which a lock on the file "lock" enforces.
// Payloads are in segments, files of up to 4 MiB (an eighth of Options.MaxBytes, if that is
// less) named by an increasing number in 16 hexadecimal digits and ".spool", so that their
// names sort in the order of writing. A segment is written only by the process that created
// it, and removed as soon as all of it is done. Other files are ignored.
//
// A segment begins with 24 bytes: "fluspool", the format's version (uint32), the segment's
// number (uint64) and a CRC-32C of these. Each payload is preceded by 28 bytes: 0xf5 "FSP",
// the payload's length, its records, the payloads and the records before it in the segment,
// the payload's CRC-32C, and a CRC-32C of the header, the segment's number and the header's
// offset: so bytes of a payload that look like a header are not mistaken for one. All
// integers are little-endian and 32 bits wide unless noted otherwise. All versions of the
// format begin with the same 24 bytes; a segment of a newer version makes Open fail, and is
// not changed.
//
// # What survives
//
// Payloads accepted by Append survive the end of the process, however it ends. They survive
// a crash of the machine once they are synced: before Append returns with SyncAlways, after
// at most the interval with an interval, and always when Sync has returned nil. A segment
// that failed to sync is no longer written, and Sync fails as long as it exists: the system
// may have dropped its pages, so that a later successful fsync means nothing.
//
// Progress is one position, before the oldest payload that isn't done. It is kept in the
// file "progress", in two slots that are written in turn, at the cost of one write of 40
// bytes for each Done that moves it. After a crash of the process, only payloads taken or
// done after that position are returned again: at most as many as were taken at a time.
// After a crash of the machine, payloads done since progress was last synced are returned
// again too: progress is synced with each segment's removal with SyncAlways, after the
// interval with an interval, and in Sync.
//
// # What is lost
//
// A payload with a wrong checksum is skipped. After a damaged header, reading continues at
// the next valid header. Unreadable data is skipped by blocks of 4 KiB. All losses are
// counted, in bytes and, as far as headers show, in payloads and records. A torn end, which
// a crash in Append leaves, is cut off.
package spool
