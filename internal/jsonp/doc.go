// Package jsonp lets a script on another site call a JSON answer as a function:
// "/**/name(" + JSON + ");". It is what a service needs for that and no service:
// it reads no connection, keeps nothing and knows no clock.
//
// A request goes through a [Filter] in this order:
//
//  1. Name finds the callback's name in the query, and Admit says whether the
//     request may have a wrapped answer, or is to be refused.
//  2. Strip makes the query that what is stored is known by and that an origin is
//     asked with: it has no callback, so that one stored body serves every name.
//  3. When a body is stored, a Scanner reads it once: what of it is wrapped, how much
//     it grows, and whether it is JSON at all. Of a body that is also to be had in
//     gzip, a Packer makes a Packed.
//  4. Judge says whether the answer at hand is wrapped. If it is, a Call has the bytes
//     around the body, the exact length, the header lines and the entity tag; a
//     Writer wraps a body that is on its way, and a Packed is wrapped without being
//     compressed again.
//
// Why an answer is wrapped or not is a Reason, and one table, Reasons, feeds
// Cache-Status, metrics and the manual. From Name to the last piece of a stored body
// nothing is allocated if the buffers given are large enough.
package jsonp
