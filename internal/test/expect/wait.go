package expect

import (
	"testing"
	"time"
)

// patience bounds every wait. It only ends tests that hang.
const patience = time.Minute

// Receive fails the test if nothing is received in time.
func Receive[T any](t testing.TB, what string, c <-chan T) (got T) {
	t.Helper()
	select {
	case got = <-c:
	case <-time.After(patience):
		t.Fatalf("waited in vain for %s", what)
	}
	return got
}
