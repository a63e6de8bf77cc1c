package embedded

// writeExpiry brings the change's item up to date in the order of expiry.
func (e *edit) writeExpiry(c *change) {}
