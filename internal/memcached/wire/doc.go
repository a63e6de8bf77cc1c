// Package wire is memcached's text, meta and binary protocol as bytes: one writer of
// commands, which is also where the rules of keys are kept, and one reader of replies.
// It knows no connection and no clock.
package wire
