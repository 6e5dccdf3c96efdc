package runs

import (
	"strings"
	"testing"
)

func TestCron_NamesTheInvalidField(t *testing.T) {
	for line, want := range map[string]string{
		"0 3 * * *":                                 "",
		"*/5 0-23/2 1,15 jan-Mar mon-fri":           "",
		"0 12 * * 0 2030":                           "",
		"30 0 12 * * 7 *":                           "",
		"CRON_TZ=Europe/Berlin 0 3 * * * # nightly": "",
		"TZ=UTC @daily":                             "",
		"@every 5m":                                 "",
		"":                                          "it has 0 fields; there are five (minute, hour, day of month, month, day of week), six with a year, seven with a second before them",
		"0 3 * *":                                   "it has 4 fields; there are five (minute, hour, day of month, month, day of week), six with a year, seven with a second before them",
		"1 2 3 4 5 2030 7 8":                        "it has 8 fields; there are five (minute, hour, day of month, month, day of week), six with a year, seven with a second before them",
		"60 3 * * *":                                `the minute is "60"; it must be from 0 to 59`,
		"0 24 * * *":                                `the hour is "24"; it must be from 0 to 23`,
		"0 3 0 * *":                                 `the day of month is "0"; it must be from 1 to 31`,
		"0 3 * foo *":                               `the month is "foo"; it must be from 1 to 12`,
		"0 3 * * 1-x":                               `the day of week is "x"; it must be from 0 to 7`,
		"0 3 * * 5-2":                               `the day of week "5-2" ends before it starts`,
		"0/0 3 * * *":                               `the minute "0/0" has the step "0", which is not a number above 0`,
		"0 3 * * * 1999":                            `the year is "1999"; it must be from 2000 to 2100`,
		"61 0 3 * * * *":                            `the second is "61"; it must be from 0 to 59`,
	} {
		err := checkCron(line)
		if (err == nil) != (want == "") || err != nil && err.Error() != want {
			t.Errorf("%q: %v, want %q", line, err, want)
		}
	}
}

// The calendar has the form of the Temporal CLI. Faults are named.
func TestCalendar_BecomesACronLine(t *testing.T) {
	for text, want := range map[string]string{
		`{"dayOfWeek":"Fri","hour":"3","minute":"30"}`:         "0 30 3 * * Fri *",
		`{"month":"1 - 3","dayOfMonth":1,"comment":"quarter"}`: "0 0 0 1 1-3 * *",
		`{"hour":"25"}`: `the hour is "25"`,
		`{"hours":"2"}`: `there is no "hours"`,
		`[1]`:           "it is not a JSON object",
		`{"hour":1} {}`: "it is not a JSON object",
	} {
		got, err := calendarCron(text)
		if err != nil {
			got = err.Error()
		}
		if !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q, want %q", text, got, want)
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
