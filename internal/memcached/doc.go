// Package memcached is the service that answers HTTP from values which an application
// keeps in memcached, without asking the application.
//
// A request goes this way:
//
//  1. The table finds its location by the path, whose template makes a key of it. A
//     callback (package jsonp) is taken out of the query before the template sees that.
//  2. With near_ttl above 0, a copy in this process answers if it is young enough.
//  3. The ring says which server has the key; package client asks it, and package value
//     tells what the value is.
//  4. A value is answered with an ETag made of its bytes: 200, or 304.
//  5. Everything else is a miss with a Reason, trouble with memcached included, and is
//     the fallback's: miss. What has no location or is neither GET nor HEAD is passed
//     to it as it is: pass.
//
// A call belongs to one exchange. Settings never change: a reload makes new ones, and
// requests that have begun keep theirs.
package memcached
