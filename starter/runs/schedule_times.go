package runs

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/switchyard/switchyard/internal/value/display"
	"github.com/switchyard/switchyard/starter/cli"
	"go.temporal.io/sdk/client"
)

// timeFlags define when a schedule starts runs. The names match the Temporal CLI's.
type timeFlags struct {
	crons    []string
	interval time.Duration
	zone     string
}

func (t *timeFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringArrayVar(&t.crons, "cron", nil,
		"cron `expression`: minute, hour, day of month, month, day of week; repeatable")
	f.DurationVar(&t.interval, "interval", 0,
		"time between starts, a `duration` of a second or more, such as 45m")
	f.StringVar(&t.zone, "time-zone", "",
		"`name` of the time zone of --cron, such as Europe/Berlin (default UTC)")
}

// spec returns the checked schedule specification.
func (t *timeFlags) spec(cmd *cobra.Command) (client.ScheduleSpec, error) {
	s := client.ScheduleSpec{TimeZoneName: t.zone}
	switch {
	case len(t.crons) == 0 && t.interval == 0:
		return s, cli.UsageError(cmd, "no times: pass --cron or --interval")
	case t.interval >= time.Second:
		s.Intervals = []client.ScheduleIntervalSpec{{Every: t.interval}}
	case t.interval != 0:
		return s, cli.UsageError(cmd, "--interval %s is below one second", t.interval)
	}
	for _, text := range t.crons {
		if err := checkCron(text); err != nil {
			return s, cli.UsageError(cmd, "--cron %q: %v", text, err)
		}
		s.CronExpressions = append(s.CronExpressions, strings.Join(strings.Fields(text), " "))
	}
	if _, err := time.LoadLocation(t.zone); err != nil || t.zone == "Local" {
		return s, cli.UsageError(cmd, "--time-zone %q is not a known time zone", t.zone)
	}
	return s, nil
}

// words describes the schedule's times as given on the command line.
func (t *timeFlags) words() string {
	var parts []string
	for _, text := range t.crons {
		parts = append(parts, "cron "+text)
	}
	if t.interval > 0 {
		parts = append(parts, "every "+t.interval.String())
	}
	words := strings.Join(parts, "; ")
	if t.zone != "" {
		words += " (" + t.zone + ")"
	}
	return words
}

// cronPart is one of the parts of a field that commas separate: *, a value or a range, and a step.
// Values are numbers or names, such as fri. The server reads more forms, some of them otherwise
// than the programs that they come from: it takes # for the beginning of a comment and a sixth
// field for the year. Parsers of cron do not fit: robfig/cron refuses 7 for Sunday, which the
// server takes, and takes ? and @every. The server checks the bounds.
var cronPart = regexp.MustCompile(`(?i)^(\*|(\d+|[a-z]{3})(-(\d+|[a-z]{3}))?)(/\d+)?$`)

// checkCron reports why a cron expression is not one of five fields that all programs read alike.
func checkCron(text string) error {
	fields := strings.Fields(text)
	if len(fields) != 5 {
		return fmt.Errorf("it has %s, not five: minute, hour, day of month, month, day of week%s",
			display.Plural(len(fields), "field"), hintAt(fields))
	}
	for _, field := range fields {
		for part := range strings.SplitSeq(field, ",") {
			if !cronPart.MatchString(part) {
				return fmt.Errorf("schedules do not support %q; use numbers, names, *, ranges, "+
					"lists and steps", field)
			}
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
	case len(fields) > 5:
		return "; leave out the seconds before them and the year after them"
	}
	return ""
}

// bothDays reports whether a cron expression limits the day of the month and the day of the week.
func bothDays(cron string) bool {
	fields := strings.Fields(cron)
	return fields[2] != "*" && fields[4] != "*"
}
