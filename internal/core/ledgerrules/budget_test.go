package ledgerrules

import (
	"testing"
	"time"
)

func TestPeriod_Bounds(t *testing.T) {
	for _, test := range []struct {
		period         Period
		at, from, next string
	}{
		{Hour, "2026-11-26T03:59:59.9Z", "2026-11-26T03:00:00Z", "2026-11-26T04:00:00Z"},
		{Hour, "2026-11-26T09:00:00+05:30", "2026-11-26T03:00:00Z", "2026-11-26T04:00:00Z"},
		{Day, "2026-11-26T00:00:00Z", "2026-11-26T00:00:00Z", "2026-11-27T00:00:00Z"},
		{Day, "2026-11-26T23:30:00-01:00", "2026-11-27T00:00:00Z", "2026-11-28T00:00:00Z"},
		{Week, "2026-11-26T10:00:00Z", "2026-11-23T00:00:00Z", "2026-11-30T00:00:00Z"},
		{Week, "2026-11-29T23:59:59Z", "2026-11-23T00:00:00Z", "2026-11-30T00:00:00Z"},
		{Week, "2026-11-30T00:00:00Z", "2026-11-30T00:00:00Z", "2026-12-07T00:00:00Z"},
		{Month, "2028-02-29T12:00:00Z", "2028-02-01T00:00:00Z", "2028-03-01T00:00:00Z"},
		{Month, "2026-12-31T23:59:59Z", "2026-12-01T00:00:00Z", "2027-01-01T00:00:00Z"},
	} {
		at, err := time.Parse(time.RFC3339Nano, test.at)
		if err != nil {
			t.Fatal(err)
		}
		from, next := PeriodBounds(test.period, at)
		if from.Format(time.RFC3339) != test.from || next.Format(time.RFC3339) != test.next {
			t.Errorf("%s of %s: %s to %s", test.period, test.at, from, next)
		}
	}
}

func TestPrincipalBudget_IsFor(t *testing.T) {
	for _, test := range []struct {
		principals, except []string
		want               bool
	}{
		{nil, nil, true},
		{[]string{"bob", "ada"}, nil, true},
		{[]string{"bob"}, nil, false},
		{nil, []string{"ada"}, false},
		{nil, []string{"bob"}, true},
		{[]string{"ada"}, []string{"ada"}, false},
	} {
		b := Budget{Principals: test.principals, Except: test.except}
		if AppliesTo(b, "ada") != test.want {
			t.Errorf("%+v: %v", b, !test.want)
		}
	}
}

func TestPrincipalBudget_IsSpentAtItsLimit(t *testing.T) {
	now := time.Date(2026, 11, 26, 3, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		name   string
		budget Budget
		start  time.Time
		want   string
	}{
		{"tokens", Budget{Period: Hour, Tokens: 100}, now, "100 of 100 tokens"},
		{"cost", Budget{Period: Hour, Cost: 0.5}, now, "a cost of 0.5 of 0.5"},
		{"both", Budget{Period: Hour, Cost: 0.5, Tokens: 101}, now,
			"a cost of 0.5 of 0.5"},
		{"more", Budget{Period: Hour, Cost: 0.6, Tokens: 101}, now, ""},
		{"earlier hour", Budget{Period: Hour, Tokens: 1}, now.Add(-time.Hour), ""},
		{"other period", Budget{Period: Day, Tokens: 1}, now, ""},
	} {
		used := []PeriodUsage{{Period: Hour, Start: test.start, Tokens: 100,
			Cost: 0.5}}
		if got := DescribeSpent(test.budget, used, now); got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}
