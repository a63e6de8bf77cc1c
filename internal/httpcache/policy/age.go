package policy

// creationTime returns the time at which r was created, as far as it is known (RFC 9111,
// section 4.2.3): its response_time less the corrected_initial_age. age is the value of Age.
//
// The transfer time is measured in microseconds, Date has seconds, rounded down. If Date is
// not before the second of the request, it only shows that r was created during the
// transfer, whose time counts already; the RFC allows to use that alone. Otherwise a second
// that begins during the transfer would make r a second too old, and a max-age of 1 would be
// over on arrival. An earlier Date counts, in whole seconds.
func (r *Response) creationTime(age int64) Moment {
	made := min(r.RequestTime, r.ResponseTime) - Moment(age)*perSecond
	if r.Date >= r.RequestTime.Unix() {
		return made
	}
	apparent := r.ResponseTime.Unix() - r.Date
	return min(made, r.ResponseTime-Moment(apparent)*perSecond)
}

// ageState is the age of a response at a moment, in whole seconds as in fields. Ages are
// rounded so that comparisons have the same result as with the exact age.
type ageState struct {
	age  int64 // rounded down, as in the field Age
	ttl  int64 // lifetime less age: above 0 exactly while it is fresh
	late int64 // age rounded up, less the lifetime: at most n exactly until n seconds after its freshness
}

// ageState returns r's age at now. A clock that was set back makes r no younger than on
// arrival.
func (r *Response) ageState(now Moment) ageState {
	age := uint64(max(now, r.ResponseTime) - r.created) // created is never later than ResponseTime
	s := ageState{age: int64(age / perSecond)}
	s.ttl, s.late = r.Lifetime-s.age, s.age-r.Lifetime
	if age%perSecond != 0 {
		s.late++
	}
	return s
}

// Age returns the current age of the response, in completed seconds.
func (r *Response) Age(now Moment) int64 { return r.ageState(now).age }

// TTL returns its lifetime less its age: the remaining freshness, rounded up to whole
// seconds; 0 or less if it is stale.
func (r *Response) TTL(now Moment) int64 { return r.ageState(now).ttl }
