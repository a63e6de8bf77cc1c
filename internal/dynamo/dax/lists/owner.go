package lists

// Owner is the access key that requests a number. A new list is charged to its share.
type Owner struct {
	Key []byte // the ID; clients without one count together as one owner
	// Keys is the number of access keys. With two or more, each may use an even share of all
	// lists, or a quarter if that is larger. With fewer there are no shares.
	Keys int
}

// minShare is the divisor of the minimum share of each key.
const minShare = 4

// account is the usage of one owner.
type account struct {
	usage
	warned bool
}

// account returns the account of a key. r.mu must be held, except while the file is opened.
func (r *Registry) account(key string) *account {
	a := r.accounts[key]
	if a == nil {
		a = &account{}
		r.accounts[key] = a
	}
	return a
}

// share returns the maximum number of lists of an owner.
func (r *Registry) share(by Owner) int64 {
	if by.Keys < 2 {
		return r.max
	}
	return max(1, r.max/int64(min(by.Keys, minShare)))
}

// admit returns an error if a list of the given size must not be added. r.mu must be held.
func (r *Registry) admit(by Owner, bytes int64) error {
	if !r.used.fits(r.max, bytes) {
		return ErrFull
	}
	if !r.account(string(by.Key)).fits(r.share(by), bytes) {
		return ErrShare
	}
	return nil
}

// fits reports whether a list of the given size fits within limit lists.
func (u *usage) fits(limit, bytes int64) bool {
	return u.lists < limit && u.bytes+bytes <= limit*averageBytes
}

// nearlyFull reports whether nine tenths of limit lists are used.
func (u *usage) nearlyFull(limit int64) bool {
	return u.lists >= limit-limit/10 || u.bytes >= (limit-limit/10)*averageBytes
}
