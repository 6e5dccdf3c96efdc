package inspect

import (
	"bytes"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/ledgerrules"
	"github.com/switchyard/switchyard/starter/cli"
)

// Sums of periods that have ended are not shown: a ledger notices the end at its next event.
func TestPrintBudgets(t *testing.T) {
	now := time.Date(2026, 11, 26, 9, 30, 0, 0, time.UTC)
	hour, _ := ledgerrules.PeriodBounds(ledgerrules.Hour, now)
	month, _ := ledgerrules.PeriodBounds(ledgerrules.Month, now)
	all := func() []ledgerrules.PrincipalUsage {
		return []ledgerrules.PrincipalUsage{
			{Principal: "bob", Auth: api.AuthToken, Periods: []ledgerrules.PeriodUsage{
				{Period: ledgerrules.Hour, Start: hour, Tokens: 1200, Cost: 0.25},
				{Period: ledgerrules.Month, Start: month, Tokens: 12000, Cost: 2.5}}},
			{Principal: "ada\x1b[2J", Periods: []ledgerrules.PeriodUsage{
				{Period: ledgerrules.Hour, Start: hour.Add(-time.Hour), Tokens: 5},
				{Period: ledgerrules.Month, Start: month, Tokens: 7}}},
			{Principal: "eve", Periods: []ledgerrules.PeriodUsage{
				{Period: ledgerrules.Hour, Start: hour.Add(-time.Hour), Tokens: 5}}},
		}
	}
	const table = `principal  auth  period  since                 tokens    cost
ada [2J          month   2026-11-01T00:00:00Z       7  0.0000
bob        jwt   hour    2026-11-26T09:00:00Z    1200  0.2500
bob        jwt   month   2026-11-01T00:00:00Z   12000  2.5000
`
	const lines = `{"principal":"ada\u001b[2J","periods":[{"period":"month","start":"2026-11-01T00:00:00Z","tokens":7}]}
{"principal":"bob","auth":"jwt","periods":[{"period":"hour","start":"2026-11-26T09:00:00Z","tokens":1200,"cost":0.25},{"period":"month","start":"2026-11-01T00:00:00Z","tokens":12000,"cost":2.5}]}
`
	for output, want := range map[string]string{cli.OutputText: table, cli.OutputJSON: lines} {
		var out bytes.Buffer
		a := &cli.App{Stdio: cli.Stdio{Out: &out, Err: &out}}
		a.Format.Output = output
		if err := printBudgets(a, all(), now); err != nil || out.String() != want {
			t.Errorf("%s: %v\n%s", output, err, out.String())
		}
	}
}
