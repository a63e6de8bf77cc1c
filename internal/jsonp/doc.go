// Package jsonp lets a script of another site call a JSON answer as a function: "/**/name("
// + JSON + ");". It decides from the heads of a request and its answer, and makes the bytes;
// it has no connection, store or clock.
//
// A service uses a [Session] for each request, which takes these steps with a [Filter]:
//
//  1. Admit finds the callback's name in the query and decides whether the request may have a
//     wrapped answer, or is refused.
//  2. Strip makes the query for cache keys and for the origin. It has no callback, so one
//     stored body serves every name.
//  3. When a body is stored, a Scanner reads it once: it finds the part to wrap, the length
//     that is added, and whether it is JSON at all. If the body is also available in gzip, a
//     Packer makes a Packed.
//  4. Judge decides whether the answer is wrapped. If so, a Call returns the bytes around the
//     body, the exact length, the header lines and the entity tag; a Writer wraps a body while
//     it is received, and a Packed is wrapped without being compressed again.
//
// Every decision has a Reason. The table Reasons is the source of Cache-Status, metrics and
// the manual. A session that is used again, with large enough buffers, allocates nothing.
package jsonp
