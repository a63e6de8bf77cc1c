// Package live passes access-log records on to readers while requests are answered: a reader gets
// the records that its filter selects, as lines of JSON. A reader that is too slow loses lines, and
// gets their number; requests never wait for one. Without readers a record costs one atomic load.
package live
