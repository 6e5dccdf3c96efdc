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

func TestDatetime_ReadsAndConvertsTimes(t *testing.T) {
	cases := []struct {
		args string
		want string // time weekday
	}{
		{"operation=now", "2024-03-01T12:30:00Z Friday"},
		{"operation=now zone=Asia/Tokyo", "2024-03-01T21:30:00+09:00 Friday"},
		{"operation=convert time=2024-07-01T12:00:00Z zone=Europe/Zurich",
			"2024-07-01T14:00:00+02:00 Monday"},
		{"operation=convert time=2024-07-01T12:00:00+05:30", "2024-07-01T12:00:00+05:30 Monday"},
		{"operation=convert time=2024-02-29", "2024-02-29T00:00:00Z Thursday"},
		{"operation=convert time=2024-02-29_13:45 zone=America/Toronto",
			"2024-02-29T13:45:00-05:00 Thursday"},
		{"operation=convert time=2024-02-29T13:45:06.789Z", "2024-02-29T13:45:06.789Z Thursday"},
		{"operation=convert time=1709296200", "2024-03-01T12:30:00Z Friday"},
		{"operation=convert time=Fri,_01_Mar_2024_12:30:00_GMT", "2024-03-01T12:30:00Z Friday"},
		{"operation=add months=-3 time=2024-05-29", "2024-02-29T00:00:00Z Thursday"},
		{"operation=add days=6 time=2024-02-28", "2024-03-05T00:00:00Z Tuesday"},
		{"operation=add duration=-1h30m time=2024-03-01", "2024-02-29T22:30:00Z Thursday"},
		{"operation=add days=1 time=2024-03-30_12:00 zone=Europe/Zurich",
			"2024-03-31T12:00:00+02:00 Sunday"},
		{"operation=add duration=24h time=2024-03-30_12:00 zone=Europe/Zurich",
			"2024-03-31T13:00:00+02:00 Sunday"},
	}
	for _, c := range cases {
		out, _, e := outputOf[datetimeOutput](t, fixed, "datetime", arguments(c.args))
		if got := out.Time + " " + out.Weekday; e != nil ||
			got != c.want {
			t.Errorf("%s: got %q, %v; want %q", c.args, got, e, c.want)
		}
	}
}

// arguments parses "name=value name=value", where _ in a value is a space, and months and days are
// integers.
func arguments(text string) map[string]any {
	args := map[string]any{}
	for field := range strings.FieldsSeq(text) {
		name, value, _ := strings.Cut(field, "=")
		value = strings.ReplaceAll(value, "_", " ")
		var n int
		switch name {
		case "months", "days":
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

func TestDatetime_CountsDifferences(t *testing.T) {
	for _, c := range []struct {
		from, to, zone string
		seconds        float64
	}{
		{"2024-01-31", "2024-02-29", "", 29 * 86400},
		{"2025-01-01", "2024-01-01", "", -366 * 86400},
		{"2024-03-01T00:00:00Z", "2024-03-01T00:00:00.25Z", "", 0.25},
		{"0001-01-01", "9999-12-31", "", 315537811200},
		{"2024-03-30 12:00", "2024-03-31 12:00", "Europe/Zurich", 23 * 3600},
		{"2024-03-01T23:00:00Z", "2024-03-02T01:00:00+02:00", "", 0},
		{"now", "2024-03-01 12:31", "", 60},
	} {
		args := map[string]any{"operation": "difference", "time": c.from, "other": c.to,
			"zone": c.zone}
		out, _, e := outputOf[datetimeOutput](t, fixed, "datetime", args)
		if e != nil || out.Seconds == nil || *out.Seconds != c.seconds {
			t.Errorf("%s to %s: got %+v, %v; want %v", c.from, c.to, out, e, c.seconds)
		}
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
		{"operation=convert time=tomorrow", api.ErrValidation, "$.time"},
		{"operation=convert time=2023-02-29", api.ErrValidation, "$.time"},
		{"operation=convert time=99999999999999999999", api.ErrValidation, "$.time"},
		{"operation=difference", api.ErrValidation, "$.other"},
		{"operation=difference time=x other=y", api.ErrValidation, "$.time"},
		{"operation=add time=x", api.ErrValidation, "$.time"},
		{"operation=add duration=2days", api.ErrValidation, "$.duration"},
		{"operation=add months=120000", api.ErrExecution, "year 12024"},
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
