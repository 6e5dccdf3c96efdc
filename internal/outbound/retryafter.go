package outbound

import (
	"math"
	"net/http"
	"strconv"
	"time"
)

// maxRetryAfter bounds how long a server may ask us to wait.
const maxRetryAfter = time.Hour

// RetryAfter returns how long the header Retry-After asks to wait: seconds or an HTTP date (RFC
// 9110, section 10.2.3). Zero without a legal one; never more than an hour.
func RetryAfter(h http.Header, now time.Time) time.Duration {
	value := h.Get("Retry-After")
	if value == "" {
		return 0
	}
	wait := time.Duration(0)
	if seconds, err := strconv.ParseFloat(value, 64); err == nil && !math.IsNaN(seconds) &&
		!math.IsInf(seconds, 0) {
		wait = time.Duration(min(seconds, maxRetryAfter.Seconds()) * float64(time.Second))
	} else if at, err := http.ParseTime(value); err == nil {
		wait = at.Sub(now)
	}
	return min(max(wait, 0), maxRetryAfter)
}
