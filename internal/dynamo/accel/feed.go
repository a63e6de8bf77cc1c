package accel

// feed is the stream of changes of a table.
type feed struct{ own *ownWrites }
