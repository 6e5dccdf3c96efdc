package runs

import (
	"strings"
	"testing"
)

func TestCron_HasFiveFields(t *testing.T) {
	const count = ", not five: minute, hour, day of month, month, day of week"
	for line, want := range map[string]string{
		"0 3 * * *":                       "",
		"*/5 0-23/2 1,15 jan-Mar mon-fri": "",
		"0 12 * * 7":                      "",
		"":                                "it has 0 fields" + count,
		"@daily":                          "it has 1 field" + count,
		"0 3 * *":                         "it has 4 fields" + count,
		"0 0 12 * * ?":                    "it has 6 fields" + count,
		"CRON_TZ=UTC 0 3 * * *":           "it has 6 fields" + count,
		"0 3 * * * # nightly":             "it has 7 fields" + count,
		"60 3 * * *":                      `the minute is "60"; it must be from 0 to 59`,
		"0 24 * * *":                      `the hour is "24"; it must be from 0 to 23`,
		"0 3 0 * *":                       `the day of month is "0"; it must be from 1 to 31`,
		"0 3 L * *":                       `the day of month is "L"; it must be from 1 to 31`,
		"0 3 ? * *":                       `the day of month is "?"; it must be from 1 to 31`,
		"0 3 15W * *":                     `the day of month is "15W"; it must be from 1 to 31`,
		"0 3 * foo *":                     `the month is "foo"; it must be from 1 to 12, or from jan to dec`,
		"0 3 * * 1-x":                     `the day of week is "x"; it must be from 0 to 7, or from sun to sat`,
		"0 3 * * 1#2":                     `the day of week is "1#2"; it must be from 0 to 7, or from sun to sat`,
		"0 3 * * 5-2":                     `the day of week "5-2" ends before it starts`,
		"0/0 3 * * *":                     `the minute "0/0" has the step "0", which is not a number above 0`,
	} {
		err := checkCron(line)
		if (err == nil) != (want == "") || err != nil && err.Error() != want {
			t.Errorf("%q: %v, want %q", line, err, want)
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
