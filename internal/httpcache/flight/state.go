package flight

import "slices"

// state is a phase in the life of a [Flight]. A flight begins in asking and ends in
// released.
//
//	+--------+  last member leaves  +-----------+   too many   +----------+
//	| asking | -------------------> | abandoned | -----------> | canceled |
//	|        | <------------------- |           |              |          |
//	+--------+   a request joins    +-----------+              +----------+
//	  |    |                          |       |                  ^     |
//	  |    +--- head ---+   +-- head -+       |   no member is   |     |
//	  |                 v   v                 |   left and the   |     |
//	  |             +-----------+             |   rest is long   |     |
//	  |             | streaming | ------------|------------------+     |
//	  |             +-----------+             |                        |
//	  |                   |                   |                        |
//	  +-------------------+------+------------+------------------------+
//	       each of the four has  |  the same ways out:
//	       +---------------------+----------------------+
//	       | an answer for       | a whole              | an error, or
//	       | the starter alone   | answer               | a body broken off
//	       | (not streaming)     |                      |
//	       v                     v                      v
//	    private              complete ------------->  failed
//	       |                     |      Close panics    |
//	       |                     |                      |
//	       +---------------------+----------------------+
//	           the flight's goroutine ends:
//	       +---------------------+----------------------+
//	       | it has members      | late requests may    | it has no
//	       |                     | join (not private)   | member
//	       v                     v                      v
//	    draining  <---------- joinable              released
//	       |    time is up,                             ^
//	       |    or replaced                             |
//	       +---- last member leaves --------------------+
//
// A flight in the background (Refresh) starts without a member and is never abandoned.
// A flight whose members all left before its head continues as streaming or complete.
//
// The resources of a flight in each state:
//
//	state      joinable        goroutine  context        memory, files    members
//	asking     yes, not alone  fill       open           -                wait for the head
//	abandoned  as asking       fill       open           a place (1)      none
//	streaming  if all is held  pump       open           buffer, spill    read both
//	canceled   no              is to end  ended          buffer, spill    none
//	complete   late requests   OnBody     open           buffer, spill    read the rest
//	private    no              is to end  the starter's  the body         starter reads it
//	failed     no              is to end  ended          buffer, spill    read all there is
//	joinable   late requests   none       ended          remainder, spill read; it is one (2)
//	draining   no              none       ended (3)      remainder, spill read the rest
//	released   no              none       ended          -                none
//
// (1) One of maxAbandoned; it is kept until a request joins or the goroutine ends.
// (2) The flight is its own member until evict.
// (3) After private the context is open until the starter has left, as the body is read
// under it.
type state uint8

const (
	asking    state = iota // the origin was asked and its head is not known
	abandoned              // as asking, and all members have left
	streaming              // the head is known and the body arrives
	canceled               // given up; the goroutine has not noticed yet
	complete               // the answer is final
	private                // the answer is for the starter alone
	failed                 // there is no answer, or its body broke off
	joinable               // over; requests that arrived in time may still join
	draining               // over; members still read
	released               // over; nothing is held
	states
)

var stateNames = [states]string{
	"asking", "abandoned", "streaming", "canceled", "complete", "private", "failed", "joinable", "draining", "released",
}

func (s state) String() string { return stateNames[s] }

// decided reports whether the flight has an outcome for members that wait for its head.
func (s state) decided() bool { return s == streaming || s >= complete }

// ended reports whether the flight's goroutine has done its last step.
func (s state) ended() bool { return s >= joinable }

// transitions are the states that may follow each state: the arrows of the drawing.
var transitions = [states][]state{
	asking:    {abandoned, streaming, complete, private, failed},
	abandoned: {asking, canceled, streaming, complete, private, failed},
	streaming: {canceled, complete, failed},
	canceled:  {complete, private, failed},
	complete:  {failed, joinable, draining, released},
	private:   {draining, released},
	failed:    {joinable, draining, released},
	joinable:  {draining},
	draining:  {released},
}

// onTransition is called before each transition. Tests panic there for one that is not drawn.
var onTransition = func(from, to state, drawn bool) {}

// to is the only function that changes the state. It refuses transitions that are not drawn,
// and wakes the members. mu is held.
func (f *Flight) to(next state) {
	drawn := slices.Contains(transitions[f.state], next)
	onTransition(f.state, next, drawn)
	if drawn {
		f.state = next
		f.notify()
	}
}
