package tools

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	// tzdata embeds the time zones (450 KB) for machines without a zone database.
	_ "time/tzdata"

	"github.com/switchyard/switchyard/tool"
)

type datetimeInput struct {
	Operation string `json:"operation"`
	Time      string `json:"time,omitempty"`
	Other     string `json:"other,omitempty"`
	Zone      string `json:"zone,omitempty"`
	Months    int    `json:"months,omitempty"`
	Days      int    `json:"days,omitempty"`
	// Duration is an exact time such as -1h30m.
	Duration string `json:"duration,omitempty"`
}

type datetimeOutput struct {
	// Time is RFC 3339.
	Time    string `json:"time,omitempty"`
	Weekday string `json:"weekday,omitempty"`
	Unix    *int64 `json:"unix,omitempty"`
	// Seconds is a difference.
	Seconds *float64 `json:"seconds,omitempty"`
}

// datetime carries out the operations in the requested zone, by default UTC.
type datetime struct {
	in   datetimeInput
	now  func() time.Time
	zone *time.Location
}

var datetimeOperations = map[string]func(*datetime) (datetimeOutput, error){
	"now":        (*datetime).current,
	"convert":    (*datetime).convert,
	"add":        (*datetime).add,
	"difference": (*datetime).difference,
}

// datetimeTool returns the tool that reads the clock and computes with times. now is the clock; nil
// means time.Now.
func datetimeTool(now func() time.Time) tool.Function {
	if now == nil {
		now = time.Now
	}
	return tool.NewFunction("datetime", func(_ context.Context,
		in datetimeInput) (datetimeOutput, error) {
		operation, ok := datetimeOperations[in.Operation]
		if !ok {
			return datetimeOutput{}, invalid("operation", "%q is not an operation; there are %s",
				in.Operation, keys(datetimeOperations))
		}
		zone, err := time.LoadLocation(in.Zone) // empty is UTC
		if err != nil || in.Zone == "Local" {
			return datetimeOutput{}, invalid("zone", "there is no time zone %q; write a name such "+
				"as Europe/Zurich or UTC", in.Zone)
		}
		return operation(&datetime{in: in, now: now, zone: zone})
	})
}

func (d *datetime) current() (datetimeOutput, error) { return output(d.now().In(d.zone)) }

func (d *datetime) convert() (datetimeOutput, error) {
	t, err := d.parse("time", d.in.Time)
	if err != nil {
		return datetimeOutput{}, err
	}
	return output(d.inZone(t))
}

// inZone converts t to the requested zone. Without one, t keeps its own offset.
func (d *datetime) inZone(t time.Time) time.Time {
	if d.in.Zone == "" {
		return t
	}
	return t.In(d.zone)
}

// add adds months, then days, then the duration. A month that is too short ends in the next one, as
// in time.Time.AddDate.
func (d *datetime) add() (datetimeOutput, error) {
	t, err := d.parse("time", d.in.Time)
	if err != nil {
		return datetimeOutput{}, err
	}
	var exact time.Duration
	if d.in.Duration != "" {
		if exact, err = time.ParseDuration(d.in.Duration); err != nil {
			return datetimeOutput{}, invalid("duration", "%q is not a duration; write a number and "+
				"a unit, such as 90s, 1h30m or -2h, and use days and months for longer ones",
				d.in.Duration)
		}
	}
	return output(d.inZone(t).AddDate(0, d.in.Months, d.in.Days).Add(exact))
}

func (d *datetime) difference() (datetimeOutput, error) {
	from, err := d.parse("time", d.in.Time)
	if err != nil {
		return datetimeOutput{}, err
	}
	to, err := d.parse("other", d.in.Other)
	if err != nil {
		return datetimeOutput{}, err
	}
	// time.Time.Sub saturates at 292 years.
	seconds := float64(to.Unix()-from.Unix()) + float64(to.Nanosecond()-from.Nanosecond())/1e9
	return datetimeOutput{Seconds: &seconds}, nil
}

// output describes t. RFC 3339 allows years of four digits only.
func output(t time.Time) (datetimeOutput, error) {
	if t.Year() < 1 || t.Year() > 9999 {
		return datetimeOutput{}, fmt.Errorf("the year %d is out of range; years go from 1 to 9999",
			t.Year())
	}
	unix := t.Unix()
	return datetimeOutput{Time: t.Format(time.RFC3339Nano), Weekday: t.Weekday().String(),
		Unix: &unix}, nil
}

// layouts are those in which times are read.
var layouts = []string{time.RFC3339Nano, "2006-01-02 15:04:05", "2006-01-02T15:04:05",
	"2006-01-02 15:04", time.DateOnly, time.RFC1123Z, "Mon, 02 Jan 2006 15:04:05 GMT"}

// parse reads a time. One without an offset is in the requested zone.
func (d *datetime) parse(parameter, text string) (time.Time, error) {
	text = strings.TrimSpace(text)
	if text == "now" || text == "" && parameter == "time" {
		return d.now().In(d.zone), nil
	}
	if seconds, err := strconv.ParseInt(text, 10, 64); err == nil {
		return time.Unix(seconds, 0).In(d.zone), nil
	}
	for _, layout := range layouts {
		if t, err := time.ParseInLocation(layout, text, d.zone); err == nil {
			return t, nil
		}
	}
	return time.Time{}, invalid(parameter, "%q is not a time; write it like 2006-01-02T15:04:05Z, "+
		"2006-01-02 15:04, 2006-01-02, or as seconds since 1970", text)
}
