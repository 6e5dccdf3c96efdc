package models

import (
	"maps"
	"regexp"
)

// Quirks are what a server has refused, by name. Nil refuses nothing.
type Quirks struct{ refused map[string]bool }

// Has reports whether the server refuses what has that name.
func (q *Quirks) Has(name string) bool { return q != nil && q.refused[name] }

// With returns the quirks with these names added; nil if q has all of them.
func (q *Quirks) With(names ...string) *Quirks {
	more := &Quirks{refused: map[string]bool{}}
	if q != nil {
		maps.Copy(more.refused, q.refused)
	}
	before := len(more.refused)
	for _, name := range names {
		more.refused[name] = true
	}
	if len(more.refused) == before {
		return nil
	}
	return more
}

// aboutValue matches a refusal of the value of a bound, rather than of the bound itself.
var aboutValue = regexp.MustCompile(`(?i)too (large|long|high|small|low)|maximum|minimum|at (most|least)|less than|greater than|exceed|range`)

// Refuses reports whether a refusal names a parameter as one that the server does not take. It does
// not if it complains about the value: the person who set it has to know.
func Refuses(refusal, name string) bool {
	return Mentions(refusal, name) && !aboutValue.MatchString(refusal)
}

// Mentions reports whether a refusal has a name as a whole word.
func Mentions(refusal, name string) bool {
	return regexp.MustCompile(`\b` + regexp.QuoteMeta(name) + `\b`).MatchString(refusal)
}
