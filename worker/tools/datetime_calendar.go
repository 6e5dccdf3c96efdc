package tools

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// maxUnits bounds the amount of each calendar unit in an addition.
const maxUnits = 1_000_000

// layout is a form of times that parse reads. A local one has no offset.
type layout struct {
	form  string
	local bool
}

var layouts = []layout{
	{time.RFC3339Nano, false}, {"2006-01-02 15:04:05.999999999Z07:00",
		false}, {"2006-01-02T15:04Z07:00", false}, {"2006-01-02 15:04Z07:00", false},
	{"2006-01-02T15:04:05", true}, {"2006-01-02 15:04:05", true}, {"2006-01-02T15:04",
		true}, {"2006-01-02 15:04", true}, {time.DateOnly, true},
	{time.RFC1123Z, false}, {"Mon, 2 Jan 2006 15:04:05 -0700",
		false}, {"Mon, 02 Jan 2006 15:04:05 GMT", false}, {"2 January 2006",
		true}, {"January 2, 2006", true},
}

// parseUnix reads seconds since 1970, up to the year 9999.
func parseUnix(text string) (time.Time, bool) {
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil || len(text) < 5 || seconds > 253402300799 || seconds < -62135596800 {
		return time.Time{}, false
	}
	return time.Unix(seconds, 0), true
}

// clock returns the hh:mm of a local time's text, or 00:00 for a date.
func clock(text string) string {
	if i := strings.IndexByte(text, ':'); i >= 2 && len(text) >= i+3 {
		return text[i-2 : i+3]
	}
	return "00:00"
}

// directives are the supported directives of strftime.
var directives = map[byte]func(time.Time) string{
	'Y': layoutOf("2006"), 'y': layoutOf("06"), 'm': layoutOf("01"), 'd': layoutOf(
		"02"), 'e': layoutOf("_2"), 'j': layoutOf("002"),
	'H': layoutOf("15"), 'I': layoutOf("03"), 'M': layoutOf("04"), 'S': layoutOf(
		"05"), 'p': layoutOf("PM"), 'f': fraction,
	'a': layoutOf("Mon"), 'A': layoutOf("Monday"), 'b': layoutOf("Jan"), 'B': layoutOf("January"),
	'z': layoutOf("-0700"), 'Z': layoutOf("MST"), 'F': layoutOf("2006-01-02"), 'T': layoutOf(
		"15:04:05"),
	'V': func(t time.Time) string { _, week := t.ISOWeek(); return fmt.Sprintf("%02d", week) },
	'G': func(t time.Time) string { year, _ := t.ISOWeek(); return fmt.Sprintf("%04d", year) },
	'u': func(t time.Time) string { return strconv.Itoa((int(t.Weekday())+6)%7 + 1) },
	's': func(t time.Time) string { return strconv.FormatInt(t.Unix(), 10) },
	'%': func(time.Time) string { return "%" },
}

func layoutOf(goLayout string) func(time.Time) string {
	return func(t time.Time) string { return t.Format(goLayout) }
}

func fraction(t time.Time) string { return fmt.Sprintf("%06d", t.Nanosecond()/1000) }

func formatTime(t time.Time, format string) (string, error) {
	var b strings.Builder
	for i := 0; i < len(format); i++ {
		if format[i] != '%' {
			b.WriteByte(format[i])
			continue
		}
		if i++; i == len(format) {
			return "",
				invalid("format", "the format ends with a single %%; write %%%% for a percent sign")
		}
		directive, ok := directives[format[i]]
		if !ok {
			return "", invalid("format", "%%%s is not a directive; there are %s",
				firstRune(format[i:]), directiveNames())
		}
		b.WriteString(directive(t))
	}
	return b.String(), nil
}

func firstRune(s string) string {
	for _, r := range s {
		return string(r)
	}
	return ""
}

func directiveNames() string {
	var names []string
	for _, d := range slices.Sorted(maps.Keys(directives)) {
		names = append(names, "%"+string(rune(d)))
	}
	return strings.Join(names, " ")
}

// addMonths keeps the day of the month. In a shorter month it returns the last day.
func addMonths(t time.Time, months int) time.Time {
	first := time.Date(t.Year(), t.Month()+time.Month(months), 1, 0, 0, 0, 0, time.UTC)
	last := first.AddDate(0, 1, -1).Day()
	return time.Date(first.Year(), first.Month(), min(t.Day(), last), t.Hour(), t.Minute(),
		t.Second(), t.Nanosecond(), t.Location())
}

// calendar is the time between two times in calendar units.
type calendar struct {
	Negative bool `json:"negative,omitempty"`
	Years    int  `json:"years"`
	Months   int  `json:"months"`
	Days     int  `json:"days"`
	Hours    int  `json:"hours"`
	Minutes  int  `json:"minutes"`
	Seconds  int  `json:"seconds"`
}

// calendarBetween counts whole months, then whole days, then the rest, in from's zone.
func calendarBetween(from, to time.Time) calendar {
	to = to.In(from.Location())
	var c calendar
	if to.Before(from) {
		c.Negative = true
		from, to = to, from
	}
	months := 12*(to.Year()-from.Year()) + int(to.Month()) - int(from.Month())
	if addMonths(from, months).After(to) {
		months--
	}
	at := addMonths(from, months)
	days := int(to.Sub(at).Hours()) / 24
	for at.AddDate(0, 0, days+1).Compare(to) <= 0 {
		days++
	}
	for days > 0 && at.AddDate(0, 0, days).After(to) {
		days--
	}
	rest := int(to.Sub(at.AddDate(0, 0, days)).Seconds())
	c.Years, c.Months, c.Days = months/12, months%12, days
	c.Hours, c.Minutes, c.Seconds = rest/3600, rest/60%60, rest%60
	return c
}

func (c calendar) String() string {
	var parts []string
	for _, unit := range []struct {
		n    int
		name string
	}{{c.Years, "year"}, {c.Months, "month"}, {c.Days, "day"}, {c.Hours, "hour"},
		{c.Minutes, "minute"}, {c.Seconds, "second"}} {
		if unit.n == 1 {
			parts = append(parts, "1 "+unit.name)
		} else if unit.n != 0 {
			parts = append(parts, fmt.Sprintf("%d %ss", unit.n, unit.name))
		}
	}
	if len(parts) == 0 {
		return "0 seconds"
	}
	if c.Negative {
		return "minus " + strings.Join(parts, ", ")
	}
	return strings.Join(parts, ", ")
}
