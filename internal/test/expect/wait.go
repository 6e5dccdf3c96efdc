package expect

import (
	"testing"
	"time"
)

// Receive fails the test if nothing is received in time.
func Receive[T any](t testing.TB, what string, c <-chan T) (got T) {
	t.Helper()
	select {
	case got = <-c:
	case <-time.After(10 * time.Second):
		t.Fatalf("waited in vain for %s", what)
	}
	return got
}
