package policy

// creationTime is when r was made, as far as can be told (RFC 9111, section 4.2.3): its
// response_time less the corrected_initial_age. age is what Age says.
//
// The time on the way is known to the microsecond, Date to the second, rounded down.
// If Date is not before the second in which r was asked for, it says no more than that
// r was made on the way, and the time of that counts already; the RFC lets it do so
// alone. Otherwise a second that begins while r is on its way would make r a second
// older than it is, and a max-age of 1 be over when r comes. An earlier Date counts,
// in whole seconds as it has them.
func (r *Response) creationTime(age int64) Moment {
	made := min(r.RequestTime, r.ResponseTime) - Moment(age)*perSecond
	if r.Date >= r.RequestTime.Unix() {
		return made
	}
	apparent := r.ResponseTime.Unix() - r.Date
	return min(made, r.ResponseTime-Moment(apparent)*perSecond)
}

// ageState is how a response stands at a moment, in whole seconds as fields have them.
// An age between two of them is rounded so that comparisons come out as they would with
// the age itself.
type ageState struct {
	age  int64 // rounded down, as the field Age has it
	ttl  int64 // the lifetime less that: above 0 as long as it is fresh, and no longer
	late int64 // the age rounded up, less the lifetime: at most n until n seconds after its freshness, and no longer
}

// ageState is how r stands now. A clock that went back makes it no younger than it was
// on arrival.
func (r *Response) ageState(now Moment) ageState {
	age := uint64(max(now, r.ResponseTime) - r.created) // made is never later than ResponseTime
	s := ageState{age: int64(age / perSecond)}
	s.ttl, s.late = r.Lifetime-s.age, s.age-r.Lifetime
	if age%perSecond != 0 {
		s.late++
	}
	return s
}

// Age is how old the response is now, in seconds that have passed.
func (r *Response) Age(now Moment) int64 { return r.ageState(now).age }

// TTL is its lifetime less its age: how long it is still fresh, rounded up to whole
// seconds; 0 or less when it is not.
func (r *Response) TTL(now Moment) int64 { return r.ageState(now).ttl }
