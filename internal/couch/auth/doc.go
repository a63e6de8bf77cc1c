// Package auth decides who may be given a copy. CouchDB grants reading by
// database: whoever may read one sees the same documents and views in it as
// anybody else who may. So copies are shared, and what is kept for each identity
// is only whether it may read the database: what a node answers to HEAD /db with the
// client's own credentials.
//
// Such a decision is kept for a short time, since the settings on which it rests are
// on no feed. Those that change through Kasoku take effect at once: decisions
// depend on tags of package cache, which move with the write. A decision that was
// asked for before a write of _security and answered after it is not kept.
package auth
