package runs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/switchyard/switchyard/internal/value/display"
	"github.com/switchyard/switchyard/starter/internal/cli"
	"go.temporal.io/sdk/client"
)

// timeFlags define when a schedule starts runs. The names match the Temporal CLI's.
type timeFlags struct {
	crons, intervals, calendars []string
	// named holds intervals given by the flag's other name.
	named             []string
	zone, from, until string
	jitter            time.Duration
}

func (t *timeFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringArrayVar(&t.crons, "cron", nil,
		"cron `expression`: minute, hour, day of month, month, day of week; repeatable")
	f.StringArrayVar(&t.intervals, "every", nil,
		"interval as a `duration`, such as 45m, or 6h/30m with an offset of 30m; repeatable")
	f.StringArrayVar(&t.named, "interval", nil,
		"alias of --every with a `duration`, as in the Temporal CLI")
	f.StringArrayVar(&t.calendars, "calendar", nil,
		"times as `JSON`, such as {\"dayOfWeek\":\"Fri\",\"hour\":\"3\",\"minute\":\"30\"}; omitted second, minute and hour mean 0, other omitted fields mean any; repeatable")
	f.StringVar(&t.zone, "time-zone", "",
		"`name` of the time zone of --cron and --calendar, such as Europe/Berlin (default UTC)")
	f.StringVar(&t.from, "start-time", "",
		"`time` of the earliest start, such as 2026-12-01T00:00:00Z")
	f.StringVar(&t.until, "end-time", "", "`time` of the latest start")
	f.DurationVar(&t.jitter, "jitter", 0, "maximum random delay of starts, a `duration`")
}

// spec returns the checked schedule specification.
func (t *timeFlags) spec(cmd *cobra.Command) (client.ScheduleSpec, error) {
	t.intervals, t.named = append(t.intervals, t.named...), nil
	s := client.ScheduleSpec{Jitter: t.jitter, TimeZoneName: t.zone}
	if len(t.crons)+len(t.intervals)+len(t.calendars) == 0 {
		return s, cli.UsageError(cmd, "no times: pass --cron, --every or --calendar")
	}
	for _, text := range t.crons {
		if err := checkCron(text); err != nil {
			return s, cli.UsageError(cmd, "--cron %q: %v", text, err)
		}
		s.CronExpressions = append(s.CronExpressions, text)
	}
	for _, text := range t.intervals {
		interval, err := parseInterval(text)
		if err != nil {
			return s, cli.UsageError(cmd, "--every %q: %v", text, err)
		}
		s.Intervals = append(s.Intervals, interval)
	}
	for _, text := range t.calendars {
		cron, err := calendarCron(text)
		if err != nil {
			return s, cli.UsageError(cmd, "--calendar %s: %v", text, err)
		}
		s.CronExpressions = append(s.CronExpressions, cron)
	}
	return s, t.bounds(cmd, &s)
}

// bounds parses the times between which a schedule starts runs.
func (t *timeFlags) bounds(cmd *cobra.Command, s *client.ScheduleSpec) error {
	for flag, to := range map[string]struct {
		text string
		at   *time.Time
	}{"--start-time": {t.from, &s.StartAt}, "--end-time": {t.until, &s.EndAt}} {
		if to.text == "" {
			continue
		}
		at, err := time.Parse(time.RFC3339, to.text)
		if err != nil {
			return cli.UsageError(cmd, "%s %q is not a time such as 2026-12-01T00:00:00Z", flag,
				to.text)
		}
		*to.at = at
	}
	if _, err := time.LoadLocation(t.zone); err != nil {
		return cli.UsageError(cmd, "--time-zone %q is not a known time zone", t.zone)
	}
	if t.jitter < 0 {
		return cli.UsageError(cmd, "--jitter %s is negative", t.jitter)
	}
	return nil
}

// words describes the schedule's times as given on the command line.
func (t *timeFlags) words() string {
	var parts []string
	for _, kind := range []struct {
		word  string
		texts []string
	}{{"cron ", t.crons}, {"every ", t.intervals}, {"calendar ", t.calendars}} {
		for _, text := range kind.texts {
			parts = append(parts, kind.word+text)
		}
	}
	words := strings.Join(parts, "; ")
	if t.zone != "" {
		words += " (" + t.zone + ")"
	}
	return words
}

// parseInterval parses a duration with an optional offset after a slash.
func parseInterval(text string) (client.ScheduleIntervalSpec, error) {
	every, offset, has := strings.Cut(text, "/")
	interval, err := time.ParseDuration(every)
	if err != nil || interval < time.Second {
		return client.ScheduleIntervalSpec{},
			fmt.Errorf("%q is not a duration of a second or more, such as 45m or 6h", every)
	}
	if !has {
		return client.ScheduleIntervalSpec{Every: interval}, nil
	}
	after, err := time.ParseDuration(offset)
	if err != nil || after < 0 || after >= interval {
		return client.ScheduleIntervalSpec{}, fmt.Errorf("the offset %q is not a duration below %s",
			offset, every)
	}
	return client.ScheduleIntervalSpec{Every: interval, Offset: after}, nil
}

// cronField describes a field of a cron expression: its name in messages and in a calendar, its
// bounds, and its value names.
type cronField struct {
	name, key  string
	start      string
	from, to   int
	valueNames []string
}

// cronFields lists the fields of the longest form. Shorter forms omit the seconds and the year.
var cronFields = []cronField{
	{name: "second", key: "second", start: "0", to: 59},
	{name: "minute", key: "minute", start: "0", to: 59},
	{name: "hour", key: "hour", start: "0", to: 23},
	{name: "day of month", key: "dayOfMonth", start: "*", from: 1, to: 31},
	{name: "month", key: "month", start: "*", from: 1, to: 12, valueNames: []string{"", "january",
		"february", "march", "april", "may", "june", "july", "august", "september", "october",
		"november", "december"}},
	{name: "day of week", key: "dayOfWeek", start: "*", to: 7, valueNames: []string{"sunday",
		"monday", "tuesday", "wednesday", "thursday", "friday", "saturday"}},
	{name: "year", key: "year", start: "*", from: 2000, to: 2100},
}

// checkCron reports which field of a cron expression is invalid and why. The server parses words
// such as @daily.
func checkCron(text string) error {
	fields, words := fieldsOf(text)
	if words {
		return nil
	}
	if len(fields) < 5 || len(fields) > 7 {
		return fmt.Errorf("it has %s; there are five (minute, hour, day of month, month, day of week), six with a year, seven with a second before them",
			display.Plural(len(fields), "field"))
	}
	kinds := cronFields[1:]
	if len(fields) == 7 {
		kinds = cronFields
	}
	for i, field := range fields {
		if err := kinds[i].check(field); err != nil {
			return err
		}
	}
	return nil
}

// fieldsOf splits a cron expression without time zone and comment. words is set for one such as
// @daily.
func fieldsOf(text string) (fields []string, words bool) {
	line, _, _ := strings.Cut(text, "#")
	fields = strings.Fields(line)
	if len(fields) == 0 {
		return nil, false
	}
	if strings.HasPrefix(fields[0], "TZ=") || strings.HasPrefix(fields[0], "CRON_TZ=") {
		fields = fields[1:]
	}
	return fields, len(fields) > 0 && strings.HasPrefix(fields[0], "@")
}

func (f cronField) check(text string) error {
	for part := range strings.SplitSeq(text, ",") {
		span, step, stepped := strings.Cut(part, "/")
		if n, err := strconv.Atoi(step); stepped && (err != nil || n < 1) {
			return fmt.Errorf("the %s %q has the step %q, which is not a number above 0", f.name, text,
				step)
		}
		if err := f.checkSpan(span); err != nil {
			return err
		}
	}
	return nil
}

// checkSpan checks *, one value, or a range.
func (f cronField) checkSpan(span string) error {
	if span == "*" {
		return nil
	}
	from, to, ranged := strings.Cut(span, "-")
	low, err := f.value(from)
	high := low
	if err == nil && ranged {
		high, err = f.value(to)
	}
	if err == nil && high < low {
		err = fmt.Errorf("the %s %q ends before it starts", f.name, span)
	}
	return err
}

// value parses one value of the field: a number or the prefix of a name.
func (f cronField) value(text string) (int, error) {
	if len(text) >= 2 {
		i := slices.IndexFunc(f.valueNames, func(name string) bool {
			return strings.HasPrefix(name,
				strings.ToLower(text))
		})
		if i >= 0 {
			return i, nil
		}
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < f.from || n > f.to {
		return 0, fmt.Errorf("the %s is %q; it must be from %d to %d", f.name, text, f.from, f.to)
	}
	return n, nil
}

// calendarCron converts a calendar to a cron expression of seven fields.
func calendarCron(text string) (string, error) {
	values := map[string]json.RawMessage{}
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	if err := d.Decode(&values); err != nil || d.More() {
		return "", fmt.Errorf(`it is not a JSON object such as {"dayOfWeek":"Fri","hour":"3"}`)
	}
	var line []string
	for _, f := range cronFields {
		value := strings.ReplaceAll(strings.Trim(string(values[f.key]), `"`), " ", "")
		if value == "" {
			value = f.start
		}
		if err := f.check(value); err != nil {
			return "", err
		}
		line = append(line, value)
		delete(values, f.key)
	}
	delete(values, "comment")
	for key := range values {
		return "", fmt.Errorf(
			"there is no %q; there are second, minute, hour, dayOfMonth, month, dayOfWeek, year and comment",
			key)
	}
	return strings.Join(line, " "), nil
}
