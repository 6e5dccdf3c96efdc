package ledgerrules

import (
	"fmt"
	"slices"
	"time"

	"github.com/switchyard/switchyard/api"
)

// AppliesTo reports whether the budget limits a principal.
func AppliesTo(b api.PrincipalBudget, identity string) bool {
	return (len(b.Principals) == 0 || slices.Contains(b.Principals, identity)) &&
		!slices.Contains(b.Except, identity)
}

// IsSpent returns what of the budget is used up at a time, such as "1203 of 1000 tokens"; empty while
// something is left.
func IsSpent(b api.PrincipalBudget, all []api.PeriodUsage, now time.Time) string {
	for _, u := range all {
		switch {
		case u.Period != b.Period || Exceeds(u, now):
		case b.Tokens > 0 && u.Tokens >= b.Tokens:
			return fmt.Sprintf("%d of %d tokens", u.Tokens, b.Tokens)
		case b.Cost > 0 && u.Cost >= b.Cost:
			return fmt.Sprintf("a cost of %.6g of %.6g", u.Cost, b.Cost)
		}
	}
	return ""
}

// PeriodBounds returns when the period that contains a time began, and when the next one begins.
func PeriodBounds(p api.Period, t time.Time) (start, next time.Time) {
	t = t.UTC()
	day := time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC)
	switch p {
	case api.PeriodHour:
		start = t.Truncate(time.Hour)
		return start, start.Add(time.Hour)
	case api.PeriodWeek:
		start = day.AddDate(0, 0, -(int(t.Weekday())+6)%7)
		return start, start.AddDate(0, 0, 7)
	case api.PeriodMonth:
		start = day.AddDate(0, 0, 1-t.Day())
		return start, start.AddDate(0, 1, 0)
	case api.PeriodDay:
	}
	return day, day.AddDate(0, 0, 1)
}

// Exceeds reports whether the period has ended.
func Exceeds(u api.PeriodUsage, now time.Time) bool {
	_, next := PeriodBounds(u.Period, u.Start)
	return !now.Before(next)
}
