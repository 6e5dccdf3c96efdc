package outbound

import (
	"net/http"
	"testing"
	"time"
)

// Invalid values are ignored, and the maximum is one hour.
func TestRetryAfter_ReadsSecondsAndDates(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"":                                   0,
		"0":                                  0,
		"7":                                  7 * time.Second,
		"1.5":                                1500 * time.Millisecond,
		"-3":                                 0,
		"3600":                               time.Hour,
		"99999999999999999999":               time.Hour,
		"1e300":                              time.Hour,
		"NaN":                                0,
		"Inf":                                0,
		"-Inf":                               0,
		"soon":                               0,
		"Sun, 01 Mar 2026 12:00:30 GMT":      30 * time.Second,
		"Sunday, 01-Mar-26 12:01:00 GMT":     time.Minute,
		"Sun Mar  1 12:00:05 2026":           5 * time.Second,
		"Sun, 01 Mar 2026 11:59:00 GMT":      0,
		"Mon, 01 Mar 2027 12:00:00 GMT":      time.Hour,
		"Sun, 01 Mar 2026 12:00:30 +0100 no": 0,
	} {
		if got := RetryAfter(http.Header{"Retry-After": {value}}, now); got != want {
			t.Errorf("%q: got %v; want %v", value, got, want)
		}
	}
}
