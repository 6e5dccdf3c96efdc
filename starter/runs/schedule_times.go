package runs

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/switchyard/switchyard/internal/value/display"
	"github.com/switchyard/switchyard/starter/cli"
	"go.temporal.io/sdk/client"
)

// timeFlags define when a schedule starts runs. The names match the Temporal CLI's.
type timeFlags struct {
	crons, intervals  []string
	zone, from, until string
	jitter            time.Duration
}

func (t *timeFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringArrayVar(&t.crons, "cron", nil,
		"cron `expression`: minute, hour, day of month, month, day of week; repeatable")
	f.StringArrayVar(&t.intervals, "interval", nil,
		"interval as a `duration`, such as 45m, or 6h/30m with an offset of 30m; repeatable")
	f.StringVar(&t.zone, "time-zone", "",
		"`name` of the time zone of --cron, such as Europe/Berlin (default UTC)")
	f.StringVar(&t.from, "start-time", "",
		"`time` of the earliest start, such as 2026-12-01T00:00:00Z")
	f.StringVar(&t.until, "end-time", "", "`time` of the latest start")
	f.DurationVar(&t.jitter, "jitter", 0, "maximum random delay of starts, a `duration`")
}

// spec returns the checked schedule specification.
func (t *timeFlags) spec(cmd *cobra.Command) (client.ScheduleSpec, error) {
	s := client.ScheduleSpec{Jitter: t.jitter, TimeZoneName: t.zone}
	if len(t.crons)+len(t.intervals) == 0 {
		return s, cli.UsageError(cmd, "no times: pass --cron or --interval")
	}
	for _, text := range t.crons {
		if err := checkCron(text); err != nil {
			return s, cli.UsageError(cmd, "--cron %q: %v", text, err)
		}
		s.CronExpressions = append(s.CronExpressions, strings.Join(strings.Fields(text), " "))
	}
	for _, text := range t.intervals {
		interval, err := parseInterval(text)
		if err != nil {
			return s, cli.UsageError(cmd, "--interval %q: %v", text, err)
		}
		s.Intervals = append(s.Intervals, interval)
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
	if _, err := time.LoadLocation(t.zone); err != nil || t.zone == "Local" {
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
	}{{"cron ", t.crons}, {"every ", t.intervals}} {
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

// cronField is a field of a cron expression: its name in messages, its bounds, and the names of its
// values from from on.
type cronField struct {
	name     string
	from, to int
	names    []string
}

var cronFields = []cronField{
	{name: "minute", to: 59},
	{name: "hour", to: 23},
	{name: "day of month", from: 1, to: 31},
	{name: "month", from: 1, to: 12, names: []string{"jan", "feb", "mar", "apr", "may", "jun", "jul",
		"aug", "sep", "oct", "nov", "dec"}},
	{name: "day of week", to: 7, names: []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}},
}

// checkCron reports which field of a cron expression is invalid and why. The server reads more
// forms, some of them otherwise than the programs that they come from: it takes # for the beginning
// of a comment and a sixth field for the year. Parsers of cron do not fit: robfig/cron refuses 7
// for Sunday, which the server takes, and takes ? and @every.
func checkCron(text string) error {
	fields := strings.Fields(text)
	if len(fields) != len(cronFields) {
		return fmt.Errorf("it has %s, not five: minute, hour, day of month, month, day of week%s",
			display.Plural(len(fields), "field"), hintAt(fields))
	}
	for i, field := range fields {
		if err := cronFields[i].check(field); err != nil {
			return err
		}
	}
	return nil
}

// hintAt says what to do about fields that are too many or too few.
func hintAt(fields []string) string {
	switch {
	case len(fields) > 0 && strings.Contains(fields[0], "TZ="):
		return "; pass the time zone with --time-zone"
	case len(fields) > 0 && strings.HasPrefix(fields[0], "@"):
		return "; write @daily as 0 0 * * *, and @every as --interval"
	case slices.ContainsFunc(fields, func(f string) bool { return strings.HasPrefix(f, "#") }):
		return "; pass a comment with --notes"
	case len(fields) > len(cronFields):
		return "; leave out the seconds before them and the year after them"
	}
	return ""
}

// bothDays reports whether a cron expression limits the day of the month and the day of the week.
func bothDays(cron string) bool {
	fields := strings.Fields(cron)
	return fields[2] != "*" && fields[4] != "*"
}

func (f cronField) check(text string) error {
	for part := range strings.SplitSeq(text, ",") {
		span, step, stepped := strings.Cut(part, "/")
		if n, err := strconv.ParseUint(step, 10, 8); stepped && (err != nil || n < 1) {
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
		err = fmt.Errorf("the %s %q ends before it starts; write it as two ranges with a comma",
			f.name, span)
	}
	return err
}

// unsupported matches what other programs read besides numbers and names: ?, MON#1, L, 5L, FRIL,
// 15W and LW.
var unsupported = regexp.MustCompile(`(?i)[?#]|^(\d*|[a-z]{3})[LW]{1,2}$`)

// value parses one value of the field: a number or a name.
func (f cronField) value(text string) (int, error) {
	if i := slices.Index(f.names, strings.ToLower(text)); i >= 0 {
		return f.from + i, nil
	}
	n, err := strconv.ParseUint(text, 10, 8) // takes no sign
	if err == nil && int(n) >= f.from && int(n) <= f.to {
		return int(n), nil
	}
	if unsupported.MatchString(text) {
		return 0, fmt.Errorf("the %s is %q, which schedules do not support; use numbers, names, *, "+
			"ranges, lists and steps", f.name, text)
	}
	named := ""
	if len(f.names) > 0 {
		named = fmt.Sprintf(", or from %s to %s", f.names[0], f.names[len(f.names)-1])
	}
	return 0, fmt.Errorf("the %s is %q; it must be from %d to %d%s", f.name, text, f.from, f.to, named)
}
