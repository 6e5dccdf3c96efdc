package tools

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
)

// fixed is a clock that always shows Friday 2024-03-01 12:30 UTC.
var fixed = Config{Now: func() time.Time { return time.Date(2024, 3, 1, 12, 30, 0, 0, time.UTC) }}

func TestDatetime_ReadsConvertsAndFormatsTimes(t *testing.T) {
	cases := []struct {
		args string
		want string // time weekday text
	}{
		{"operation=now", "2024-03-01T12:30:00Z Friday "},
		{"operation=now zone=Asia/Tokyo", "2024-03-01T21:30:00+09:00 Friday "},
		{"operation=convert time=2024-07-01T12:00:00Z zone=Europe/Zurich",
			"2024-07-01T14:00:00+02:00 Monday "},
		{"operation=convert time=2024-07-01T12:00:00+05:30", "2024-07-01T12:00:00+05:30 Monday "},
		{"operation=parse time=2024-02-29", "2024-02-29T00:00:00Z Thursday "},
		{"operation=parse time=2024-02-29_13:45 zone=America/Toronto",
			"2024-02-29T13:45:00-05:00 Thursday "},
		{"operation=parse time=2024-02-29T13:45:06.789Z", "2024-02-29T13:45:06.789Z Thursday "},
		{"operation=parse time=1709296200", "2024-03-01T12:30:00Z Friday "},
		{"operation=parse time=Fri,_01_Mar_2024_12:30:00_GMT", "2024-03-01T12:30:00Z Friday "},
		{"operation=parse time=March_1,_2024", "2024-03-01T00:00:00Z Friday "},
		{"operation=weekday time=2000-01-01", "2000-01-01T00:00:00Z Saturday "},
		{"operation=format time=2024-03-01T05:06:07Z " +
			"format=%Y-%m-%d_%H:%M:%S_%a_%A_%b_%B_%j_%y_%I_%p_%e_%%",
			"2024-03-01T05:06:07Z Friday 2024-03-01 05:06:07 Fri Friday Mar March 061 24 05 " +
				"AM  1 %"},
		{"operation=format time=2024-12-30 format=%G-W%V-%u_%F_%T_%s_%f_%z_%Z_Mon_15",
			"2024-12-30T00:00:00Z Monday 2025-W01-1 2024-12-30 00:00:00 1735516800 000000 +0000 " +
				"UTC Mon 15"},
		{"operation=format format=ü%Y", "2024-03-01T12:30:00Z Friday ü2024"},
		{"operation=add months=1 time=2024-01-31", "2024-02-29T00:00:00Z Thursday "},
		{"operation=add years=1 time=2024-02-29", "2025-02-28T00:00:00Z Friday "},
		{"operation=add months=-3 time=2024-05-31", "2024-02-29T00:00:00Z Thursday "},
		{"operation=add weeks=1 days=-1 time=2024-02-28", "2024-03-05T00:00:00Z Tuesday "},
		{"operation=add duration=-1h30m time=2024-03-01", "2024-02-29T22:30:00Z Thursday "},
		{"operation=add days=1 time=2024-03-30_12:00 zone=Europe/Zurich",
			"2024-03-31T12:00:00+02:00 Sunday "},
		{"operation=add duration=24h time=2024-03-30_12:00 zone=Europe/Zurich",
			"2024-03-31T13:00:00+02:00 Sunday "},
	}
	for _, c := range cases {
		out, _, e := outputOf[datetimeOutput](t, fixed, "datetime", arguments(c.args))
		if got := fmt.Sprintf("%s %s %s", out.Time, out.Weekday, out.Text); e != nil ||
			got != c.want {
			t.Errorf("%s: got %q, %v; want %q", c.args, got, e, c.want)
		}
	}
}

// arguments parses "name=value name=value", where _ in a value is a space and calendar units are
// integers.
func arguments(text string) map[string]any {
	args := map[string]any{}
	for field := range strings.FieldsSeq(text) {
		name, value, _ := strings.Cut(field, "=")
		value = strings.ReplaceAll(value, "_", " ")
		var n int
		switch name {
		case "years", "months", "weeks", "days":
			if _, err := fmt.Sscan(value, &n); err != nil {
				panic(err)
			}
			args[name] = n
		default:
			args[name] = value
		}
	}
	return args
}

func TestDatetime_CountsDifferencesExactlyAndByCalendar(t *testing.T) {
	cases := []struct {
		from, to, zone string
		seconds        float64
		text           string
	}{
		{"2024-01-31", "2024-02-29", "", 29 * 86400, "1 month"},
		{"2024-01-01", "2025-03-04 05:06:07", "", 428*86400 + 18367,
			"1 year, 2 months, 3 days, 5 hours, 6 minutes, 7 seconds"},
		{"2025-01-01", "2024-01-01", "", -366 * 86400, "minus 1 year"},
		{"2024-03-01T00:00:00Z", "2024-03-01T00:00:00.25Z", "", 0.25, "0 seconds"},
		{"0001-01-01", "9999-12-31", "", 315537811200, "9998 years, 11 months, 30 days"},
		{"2024-03-30 12:00", "2024-03-31 12:00", "Europe/Zurich", 23 * 3600, "1 day"},
		{"2024-03-01T23:00:00Z", "2024-03-02T01:00:00+02:00", "", 0, "0 seconds"},
		{"now", "2024-03-01 12:31", "", 60, "1 minute"},
	}
	for _, c := range cases {
		args := map[string]any{"operation": "difference", "time": c.from, "other": c.to,
			"zone": c.zone}
		out, _, e := outputOf[datetimeOutput](t, fixed, "datetime", args)
		if e != nil || out.Seconds == nil || *out.Seconds != c.seconds || out.Text != c.text {
			t.Errorf("%s to %s: got %+v, %v; want %v, %s", c.from, c.to, out, e, c.seconds, c.text)
		}
	}
}

func TestDatetime_NotesLocalTimesThatDoNotExist(t *testing.T) {
	args := map[string]any{"operation": "parse", "time": "2024-03-31 02:30",
		"zone": "Europe/Zurich"}
	if out, notes, e := outputOf[datetimeOutput](t, fixed, "datetime", args); e != nil ||
		len(notes) != 1 {
		t.Errorf("got %+v, %q, %v", out, notes, e)
	}
	args["time"] = "2024-03-31 03:30"
	if out, notes, e := outputOf[datetimeOutput](t, fixed, "datetime", args); e != nil ||
		len(notes) != 0 {
		t.Errorf("got %+v, %q, %v", out, notes, e)
	}
}

func TestDatetime_RejectsWhatItCannotRead(t *testing.T) {
	cases := []struct {
		args    string
		failure api.ErrorType
		want    string
	}{
		{"operation=guess", api.ErrValidation, "$.operation"},
		{"operation=now zone=Mars/Base", api.ErrValidation, "$.zone"},
		{"operation=now zone=Local", api.ErrValidation, "$.zone"},
		{"operation=now zone=../../etc/passwd", api.ErrValidation, "$.zone"},
		{"operation=parse time=tomorrow", api.ErrValidation, "$.time"},
		{"operation=parse time=2023-02-29", api.ErrValidation, "$.time"},
		{"operation=parse time=99999999999999999999", api.ErrValidation, "$.time"},
		{"operation=difference", api.ErrValidation, "$.other"},
		{"operation=difference time=x other=y", api.ErrValidation, "$.time"},
		{"operation=add time=x", api.ErrValidation, "$.time"},
		{"operation=add duration=2days", api.ErrValidation, "$.duration"},
		{"operation=add days=99999999", api.ErrValidation, "$.days"},
		{"operation=add years=9000", api.ErrExecution, "year 11024"},
		{"operation=format time=x format=%Y", api.ErrValidation, "$.time"},
		{"operation=format", api.ErrValidation, "$.format"},
		{"operation=format format=%Q", api.ErrValidation, "%Q is not a directive"},
		{"operation=format format=100%", api.ErrValidation, "single %"},
	}
	for _, c := range cases {
		if _, _, e := outputOf[datetimeOutput](t, fixed, "datetime",
			arguments(c.args)); !refusedWith(e, c.failure, c.want) {
			t.Errorf("%s: got %v; want %s with %s", c.args, e, c.failure, c.want)
		}
	}
}

func TestDatetime_UsesTheSystemClockByDefault(t *testing.T) {
	out, _, e := outputOf[datetimeOutput](t, Config{}, "datetime",
		map[string]any{"operation": "now"})
	if e != nil || out.Unix == nil || time.Since(time.Unix(*out.Unix, 0)).Abs() > time.Minute {
		t.Errorf("got %+v, %v", out, e)
	}
}
