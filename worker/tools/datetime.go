package tools

import (
	"context"
	"fmt"
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
	Format    string `json:"format,omitempty"`
	Years     int    `json:"years,omitempty"`
	Months    int    `json:"months,omitempty"`
	Weeks     int    `json:"weeks,omitempty"`
	Days      int    `json:"days,omitempty"`
	// Duration is an exact time such as -1h30m. Calendar units have fields of their own above.
	Duration string `json:"duration,omitempty"`
}

type datetimeOutput struct {
	// Time is RFC 3339.
	Time    string `json:"time,omitempty"`
	Zone    string `json:"zone,omitempty"`
	Weekday string `json:"weekday,omitempty"`
	Unix    *int64 `json:"unix,omitempty"`
	// Text is the formatted time or the difference in words.
	Text string `json:"text,omitempty"`
	// Seconds is a difference; Calendar is the same difference in calendar units.
	Seconds  *float64  `json:"seconds,omitempty"`
	Calendar *calendar `json:"calendar,omitempty"`

	notes []string
}

// Notes implements tool.Noted.
func (o datetimeOutput) Notes() []string { return o.notes }

// datetime carries out the operations in the requested zone, by default UTC.
type datetime struct {
	in    datetimeInput
	now   func() time.Time
	zone  *time.Location
	notes []string
}

var datetimeOperations = map[string]func(*datetime) (datetimeOutput, error){
	"now":        (*datetime).current,
	"parse":      (*datetime).convert,
	"convert":    (*datetime).convert,
	"weekday":    (*datetime).convert,
	"format":     (*datetime).format,
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
		d := &datetime{in: in, now: now, zone: time.UTC}
		if in.Zone != "" {
			zone, err := time.LoadLocation(in.Zone)
			if err != nil || in.Zone == "Local" {
				return datetimeOutput{},
					invalid("zone", "there is no time zone %q; write a name such as "+
						"Europe/Zurich or UTC", in.Zone)
			}
			d.zone = zone
		}
		out, err := operation(d)
		out.notes = d.notes
		return out, err
	})
}

func (d *datetime) current() (datetimeOutput, error) { return d.output(d.now().In(d.zone)) }

func (d *datetime) convert() (datetimeOutput, error) {
	t, err := d.parse("time", d.in.Time)
	if err != nil {
		return datetimeOutput{}, err
	}
	return d.output(d.inZone(t))
}

// inZone converts t to the requested zone. Without one, t keeps its own offset.
func (d *datetime) inZone(t time.Time) time.Time {
	if d.in.Zone == "" {
		return t
	}
	return t.In(d.zone)
}

func (d *datetime) format() (datetimeOutput, error) {
	t, err := d.parse("time", d.in.Time)
	if err != nil {
		return datetimeOutput{}, err
	}
	if d.in.Format == "" {
		return datetimeOutput{},
			invalid("format", "the format is missing; write one with directives like %%Y-%%m-%%d "+
				"%%H:%%M")
	}
	t = d.inZone(t)
	out, err := d.output(t)
	if err != nil {
		return out, err
	}
	out.Text, err = formatTime(t, d.in.Format)
	return out, err
}

func (d *datetime) add() (datetimeOutput, error) {
	t, err := d.parse("time", d.in.Time)
	if err != nil {
		return datetimeOutput{}, err
	}
	t = d.inZone(t)
	var exact time.Duration
	if d.in.Duration != "" {
		if exact, err = time.ParseDuration(d.in.Duration); err != nil {
			return datetimeOutput{},
				invalid("duration", "%q is not a duration; write a number and a unit, such as "+
					"90s, 1h30m or -2h, and use days, weeks, months and years for longer "+
					"ones", d.in.Duration)
		}
	}
	for _, n := range []int{d.in.Years, d.in.Months, d.in.Weeks, d.in.Days} {
		if n > maxUnits || n < -maxUnits {
			return datetimeOutput{},
				invalid("days", "years, months, weeks and days go from -%d to %d", maxUnits,
					maxUnits)
		}
	}
	moved := addMonths(t, 12*d.in.Years+d.in.Months).AddDate(0, 0, 7*d.in.Weeks+d.in.Days)
	return d.output(moved.Add(exact))
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
	between := calendarBetween(d.inZone(from), to)
	return datetimeOutput{Seconds: &seconds, Calendar: &between, Text: between.String()}, nil
}

// output describes t. RFC 3339 allows years of four digits only.
func (d *datetime) output(t time.Time) (datetimeOutput, error) {
	if t.Year() < 1 || t.Year() > 9999 {
		return datetimeOutput{}, fmt.Errorf("the year %d is out of range; years go from 1 to 9999",
			t.Year())
	}
	unix := t.Unix()
	name, _ := t.Zone()
	if d.in.Zone != "" {
		name = d.in.Zone
	}
	return datetimeOutput{Time: t.Format(time.RFC3339Nano), Zone: name,
		Weekday: t.Weekday().String(), Unix: &unix}, nil
}

// parse reads a time in one of the known layouts. A time without an offset is in the requested
// zone.
func (d *datetime) parse(parameter, text string) (time.Time, error) {
	text = strings.TrimSpace(text)
	if text == "now" || text == "" && parameter == "time" {
		return d.now().In(d.zone), nil
	}
	if t, ok := parseUnix(text); ok {
		return t.In(d.zone), nil
	}
	for _, layout := range layouts {
		if t, err := time.ParseInLocation(layout.form, text, d.zone); err == nil {
			d.noteSkipped(layout, text, t)
			return t, nil
		}
	}
	return time.Time{},
		invalid(parameter, "%q is not a time; write it like 2006-01-02T15:04:05Z, 2006-01-02 "+
			"15:04, 2006-01-02, or as seconds since 1970", text)
}

// noteSkipped notes a local time that does not exist because the clocks skipped it.
func (d *datetime) noteSkipped(layout layout, text string, t time.Time) {
	if layout.local && t.Format("15:04") != clock(text) {
		d.notes = append(d.notes,
			fmt.Sprintf("%s does not exist in %s because the clocks change; %s was taken", text,
				d.zone, t.Format(time.RFC3339)))
	}
}
