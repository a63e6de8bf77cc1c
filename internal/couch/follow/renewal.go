package follow

import "time"

// maxRenewalPause is the longest time between two renewals of a replication.
const maxRenewalPause = 10 * time.Minute

// renewal is whether a replication's document is to be written anew although nothing
// is wrong with it. The node then starts the replication at once: CouchDB waits for
// long, in the end for hours, before it tries a source again that was away, and a
// replicator that did not notice its source's end waits for ever. Guarded by the
// keeper's mu.
type renewal struct {
	wanted bool
	last   time.Time
	pause  time.Duration // until the next one, at the least
}

// take tells whether it is time, and takes note of it. Renewals that are wanted again
// and again come ever more seldom: what lags because there is much to do would only be
// held up.
func (r *renewal) take(now time.Time, least time.Duration) bool {
	since := now.Sub(r.last)
	if since > 4*r.pause {
		r.pause = 0
	}
	if !r.wanted || since < r.pause {
		return false
	}
	r.wanted, r.last, r.pause = false, now, min(max(2*r.pause, least), maxRenewalPause)
	return true
}

// takeRenewal tells whether replication i is to be renewed now; state is what the node's
// scheduler says of it. One that the scheduler runs is left alone: it sees to that
// itself.
func (k *Keeper) takeRenewal(i int, state string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if state == "running" {
		k.renewals[i].wanted = false
		return false
	}
	return k.renewals[i].take(time.Now(), k.cfg.CheckInterval)
}

// requestRenewal asks for a renewal that has failed once more.
func (k *Keeper) requestRenewal(i int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.renewals[i].wanted = true
}
