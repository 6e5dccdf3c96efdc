package api

import (
	"fmt"
	"time"
)

// Duration is a time.Duration that is text ("1m30s") in YAML, JSON and histories.
type Duration time.Duration

// Std returns d as the standard library's type.
func (d Duration) Std() time.Duration { return time.Duration(d) }

func (d Duration) String() string { return time.Duration(d).String() }

// MarshalText formats d as time.Duration does.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText parses text as time.ParseDuration does. Negative values are errors.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	if err != nil {
		return fmt.Errorf("%q is not a duration; write a number and a unit, such as 500ms, 30s or 2h",
			text)
	}
	if v < 0 {
		return fmt.Errorf("the duration %q is negative; write a positive one, such as %s", text,
			-v)
	}
	*d = Duration(v)
	return nil
}

// IsZero makes encoding/json's omitzero leave out an unset duration.
func (d Duration) IsZero() bool { return d == 0 }
