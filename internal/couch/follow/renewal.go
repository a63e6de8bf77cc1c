package follow

import "time"

// maxRenewalPause is the longest time between two renewals of a replication.
const maxRenewalPause = 10 * time.Minute

// renewal controls when a replication's valid document is written again. The node then
// starts the replication at once. Without that, CouchDB waits up to hours before it retries
// a source that was away, and a replicator that did not notice the end of its source waits
// forever. It is guarded by Keeper.mu.
type renewal struct {
	wanted bool
	last   time.Time
	pause  time.Duration // the minimum time until the next renewal
}

// take reports whether a renewal is due, and records it. Repeated renewals become less
// frequent, since they only delay a replication that lags because of its load.
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

// takeRenewal reports whether replication i is to be renewed now; state is its state in the
// node's scheduler. Replications that the scheduler runs are not renewed.
func (k *Keeper) takeRenewal(i int, state string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if state == "running" {
		k.renewals[i].wanted = false
		return false
	}
	return k.renewals[i].take(time.Now(), k.cfg.CheckInterval)
}

// requestRenewal requests a renewal again after it failed.
func (k *Keeper) requestRenewal(i int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.renewals[i].wanted = true
}
