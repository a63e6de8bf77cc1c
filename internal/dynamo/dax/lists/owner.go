package lists

// Owner is the access key that asks for a number: a new list counts in its share.
type Owner struct {
	Key []byte // the id; empty for clients without one, which are one owner together
	// Keys is how many access keys there are. One of several has an even part of all
	// lists, or a quarter if that is more. Below two there are no shares.
	Keys int
}

// minShare is the part of all lists that every key may have: one in so many.
const minShare = 4

// account is what one owner has had numbered.
type account struct {
	usage
	warned bool
}

// account returns the account of a key. r.mu is held, except while the file is opened.
func (r *Registry) account(key string) *account {
	a := r.accounts[key]
	if a == nil {
		a = &account{}
		r.accounts[key] = a
	}
	return a
}

// share is how many of all lists an owner may have.
func (r *Registry) share(by Owner) int64 {
	if by.Keys < 2 {
		return r.max
	}
	return max(1, r.max/int64(min(by.Keys, minShare)))
}

// admit reports why no list of so many bytes may be added, if so. r.mu is held.
func (r *Registry) admit(by Owner, bytes int64) error {
	if !r.used.fits(r.max, bytes) {
		return ErrFull
	}
	if !r.account(string(by.Key)).fits(r.share(by), bytes) {
		return ErrShare
	}
	return nil
}

// fits reports whether a list of so many bytes can be added where there may be most lists.
func (u *usage) fits(most, bytes int64) bool {
	return u.lists < most && u.bytes+bytes <= most*averageBytes
}

// nearlyFull reports whether nine tenths of the lists that may be there are.
func (u *usage) nearlyFull(most int64) bool {
	return u.lists >= most-most/10 || u.bytes >= (most-most/10)*averageBytes
}
