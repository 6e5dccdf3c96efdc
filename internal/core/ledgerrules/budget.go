package ledgerrules

import (
	"fmt"
	"slices"
	"time"

	"github.com/switchyard/switchyard/api"
)

// AppliesTo reports whether the budget limits a principal.
func AppliesTo(b Budget, identity string) bool {
	return (len(b.Principals) == 0 || slices.Contains(b.Principals, identity)) &&
		!slices.Contains(b.Except, identity)
}

// DescribeSpent returns what of the budget is used up at a time, such as "1203 of 1000 tokens";
// empty while something is left.
func DescribeSpent(b Budget, all []PeriodUsage, now time.Time) string {
	for _, u := range all {
		switch {
		case u.Period != b.Period || HasEnded(u, now):
		case b.Tokens > 0 && u.Tokens >= b.Tokens:
			return fmt.Sprintf("%d of %d tokens", u.Tokens, b.Tokens)
		case b.Cost > 0 && u.Cost >= b.Cost:
			return fmt.Sprintf("a cost of %.6g of %.6g", u.Cost, b.Cost)
		}
	}
	return ""
}

// PeriodBounds returns when the period that contains a time began, and when the next one begins.
func PeriodBounds(p Period, t time.Time) (start, next time.Time) {
	t = t.UTC()
	day := time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC)
	switch p {
	case Hour:
		start = t.Truncate(time.Hour)
		return start, start.Add(time.Hour)
	case Week:
		start = day.AddDate(0, 0, -(int(t.Weekday())+6)%7)
		return start, start.AddDate(0, 0, 7)
	case Month:
		start = day.AddDate(0, 0, 1-t.Day())
		return start, start.AddDate(0, 1, 0)
	case Day:
	}
	return day, day.AddDate(0, 0, 1)
}

// HasEnded reports whether the period has ended.
func HasEnded(u PeriodUsage, now time.Time) bool {
	_, next := PeriodBounds(u.Period, u.Start)
	return !now.Before(next)
}

// Budget limits what the model steps of all runs of one principal use in a period.
type Budget struct {
	Name   string
	Period Period
	// Tokens and Cost are the limits, of which at least one is set. Cost is in the currency of the
	// prices.
	Tokens int
	Cost   float64
	// Principals are the identities that it is for; empty for all. Except are those that it is not
	// for.
	Principals, Except []string
}

// Period is a part of the calendar, in UTC.
type Period string

// The periods. A week begins on Monday.
const (
	Hour  Period = "hour"
	Day   Period = "day"
	Week  Period = "week"
	Month Period = "month"
)

// PeriodUsage is what the model steps of a principal used in the period that began at Start.
type PeriodUsage struct {
	Period Period    `json:"period"`
	Start  time.Time `json:"start"`
	Tokens int       `json:"tokens,omitempty"`
	Cost   float64   `json:"cost,omitempty"`
}

// PrincipalUsage is what the model steps of a principal used, where it has budgets.
type PrincipalUsage struct {
	Principal string         `json:"principal"`
	Auth      api.AuthMethod `json:"auth,omitempty"`
	Periods   []PeriodUsage  `json:"periods"`
}
