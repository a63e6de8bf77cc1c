// Package flight sends one request to the origin for all clients that want the same answer.
//
// A [Group] holds the flights of one store. A caller whose look-up has found nothing calls
// [Group.Join], which joins a [Flight] that is under way or starts one:
//
//	w := group.Join(&flight.Request{Query: q, Fill: fill})
//	defer w.Leave()
//	out, err := w.Wait(ctx)
//	switch out.Kind {
//	case flight.Whole: // out.Object is the answer
//	case flight.Streaming: // out.Head, then the bytes of w.Next as they arrive
//	case flight.Private: // out.Answer is for this caller alone
//	case flight.OtherVariant: // join again: the flight was for another variant
//	case flight.Unshared: // ask the origin alone: the answer is for another request
//	}
//
// A [FillFunc] sends the request and returns an [Answer], which states whether the answer is
// shared and whether it is kept. It runs in the flight's goroutine, since a flight outlives
// the request that started it.
//
// # Keys and fences
//
// Flights are found by [store.Query]. The flight notes a [store.Fence] before its origin is
// asked: after a write or a purge of the URL no request joins it, and its answer is not
// stored.
//
// # Callers that keep answers elsewhere
//
// A cache in front of another store, for example memcached, leaves Request.Seen and
// Answer.Keep unset and takes the body in Answer.OnBody. Its look-up elsewhere may find
// nothing just before another flight ends that has put the answer there. Request.Arrived
// and Request.Linger close that gap: a request joins a flight that ended after it had
// arrived. Answer.Remember is for answers that are put nowhere.
//
// # Memory
//
// A body that is kept is held as a whole; a long one is spilled to disk. Of any other body,
// a window is held that the slowest reader moves. [Limits] bounds the memory of all flights.
// The memory that members still read after the end of a flight is counted in
// [store.BodiesInFlight].
//
// The life of a flight is one state machine, drawn at the type state.
package flight
