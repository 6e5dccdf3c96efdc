package operate

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// retention is a flag's duration, which may also be given in days, such as 30d.
type retention time.Duration

// maxDays bounds a number of days, far below the largest duration.
const maxDays = 36500

// Set implements pflag.Value.
func (d *retention) Set(text string) error {
	if number, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.Atoi(number)
		if err != nil || n < 0 || n > maxDays {
			return fmt.Errorf("write a whole number of days, at most %dd", maxDays)
		}
		*d = retention(time.Duration(n) * 24 * time.Hour)
		return nil
	}
	duration, err := time.ParseDuration(text)
	if err != nil {
		return errors.New("write days or hours, such as 30d or 720h")
	}
	*d = retention(duration)
	return nil
}

// String implements pflag.Value.
func (d *retention) String() string {
	return time.Duration(*d).String()
}

// Type implements pflag.Value.
func (d *retention) Type() string { return "days" }
