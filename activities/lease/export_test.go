package lease

import "time"

// End returns when the lease ends.
func (l *Lease) End() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.until
}

// SetEnd changes when the lease ends without changing its timer.
func (l *Lease) SetEnd(end time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.until = end
}
