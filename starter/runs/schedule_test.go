package runs

import (
	"fmt"
	"testing"
)

func TestCron_HasFiveFields(t *testing.T) {
	const count = ", not five: minute, hour, day of month, month, day of week"
	no := func(field string) string {
		return fmt.Sprintf("schedules do not support %q; use numbers, names, *, ranges, lists and "+
			"steps", field)
	}
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
		"0 3 * * * # nightly": "it has 7 fields" + count +
			"; leave out the seconds before them and the year after them",
		"+5 3 * * *":     no("+5"),
		"1,,2 3 * * *":   no("1,,2"),
		"0 3 L * *":      no("L"),
		"0 3 L-3 * *":    no("L-3"),
		"0 3 lw * *":     no("lw"),
		"0 3 ? * *":      no("?"),
		"0 3 15W * *":    no("15W"),
		"0 3 * * 1#2":    no("1#2"),
		"0 9 * * MON#1":  no("MON#1"),
		"0 9 * * friL":   no("friL"),
		"0 3 * * 1-x":    no("1-x"),
		"0 3 * * monday": no("monday"),
		"*/-1 3 * * *":   no("*/-1"),
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
