package runs

import (
	"strings"
	"testing"
)

func TestCron_HasFiveFields(t *testing.T) {
	const count = ", not five: minute, hour, day of month, month, day of week"
	const no = ", which schedules do not support; use numbers, names, *, ranges, lists and steps"
	for line, want := range map[string]string{
		"0 3 * * *":                       "",
		"*/5 0-23/2 1,15 jan-Mar mon-fri": "",
		"0 12 * * 7":                      "",
		"0 12 * Jul wed":                  "",
		"5/15 3 * * SUN":                  "",
		"":                                "it has 0 fields" + count,
		"@daily": "it has 1 field" + count +
			"; write @daily as 0 0 * * *, and @every as --interval",
		"0 3 * *": "it has 4 fields" + count,
		"0 0 12 * * ?": "it has 6 fields" + count +
			"; leave out the seconds before them and the year after them",
		"0 0 12 * * MON 2027": "it has 7 fields" + count +
			"; leave out the seconds before them and the year after them",
		"CRON_TZ=UTC 0 3 * * *": "it has 6 fields" + count + "; pass the time zone with --time-zone",
		"0 3 * * * # nightly":   "it has 7 fields" + count + "; pass a comment with --notes",
		"60 3 * * *":            `the minute is "60"; it must be from 0 to 59`,
		"+5 3 * * *":            `the minute is "+5"; it must be from 0 to 59`,
		"1,,2 3 * * *":          `the minute is ""; it must be from 0 to 59`,
		"0 24 * * *":            `the hour is "24"; it must be from 0 to 23`,
		"0 3 0 * *":             `the day of month is "0"; it must be from 1 to 31`,
		"0 3 L * *":             `the day of month is "L"` + no,
		"0 3 L-3 * *":           `the day of month is "L"` + no,
		"0 3 lw * *":            `the day of month is "lw"` + no,
		"0 3 ? * *":             `the day of month is "?"` + no,
		"0 3 15W * *":           `the day of month is "15W"` + no,
		"0 3 * * 1#2":           `the day of week is "1#2"` + no,
		"0 9 * * MON#1":         `the day of week is "MON#1"` + no,
		"0 9 * * friL":          `the day of week is "friL"` + no,
		"0 3 * foo *":           `the month is "foo"; it must be from 1 to 12, or from jan to dec`,
		"0 3 * * 1-x":           `the day of week is "x"; it must be from 0 to 7, or from sun to sat`,
		"0 3 * * monday":        `the day of week is "monday"; it must be from 0 to 7, or from sun to sat`,
		"0 3 * * 5-2": `the day of week "5-2" ends before it starts; ` +
			`write it as two ranges with a comma`,
		"0/0 3 * * *":  `the minute "0/0" has the step "0", which is not a number above 0`,
		"*/-1 3 * * *": `the minute "*/-1" has the step "-1", which is not a number above 0`,
	} {
		err := checkCron(line)
		if (err == nil) != (want == "") || err != nil && err.Error() != want {
			t.Errorf("%q: %v, want %q", line, err, want)
		}
	}
}

// crontab starts on either of two days, the server on days that are both.
func TestCron_LimitsBothDays(t *testing.T) {
	for line, want := range map[string]bool{"0 9 1 * 1": true, "0 9 */2 * mon": true,
		"0 9 * * 1": false, "0 9 1 * *": false, "0 9 * 1 *": false} {
		if got := bothDays(line); got != want {
			t.Errorf("%q: %t, want %t", line, got, want)
		}
	}
}

// Faults are named.
func TestInterval_HasAnOffset(t *testing.T) {
	for text, want := range map[string]string{"45m": "45m0s+0s", "6h/30m": "6h0m0s+30m0s",
		"0s": "not a duration of a second", "x": "not a duration", "1h/2h": `the offset "2h"`,
		"1h/-1s": "the offset"} {
		interval, err := parseInterval(text)
		got := interval.Every.String() + "+" + interval.Offset.String()
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
