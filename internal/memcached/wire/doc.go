// Package wire encodes and decodes memcached's text, meta and binary protocol: it has one
// writer of commands, which enforces the rules for keys, and one reader of replies. It has
// no connection and no clock.
package wire
