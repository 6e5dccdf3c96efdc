package audit

import (
	"iter"

	"github.com/switchyard/switchyard"
)

// LaneUse is what calls of one lane took. Times count calls that ended after they started.
type LaneUse struct {
	Lane string `json:"lane"`
	// Calls counts all of them; Failed those that failed or were cancelled, Refused those that never ran.
	Calls       int                 `json:"calls"`
	Failed      int                 `json:"failed"`
	Refused     int                 `json:"refused"`
	Total       switchyard.Duration `json:"total"`
	Average     switchyard.Duration `json:"average"`
	Max         switchyard.Duration `json:"max"`
	WaitAverage switchyard.Duration `json:"wait_average"`
	WaitMax     switchyard.Duration `json:"wait_max"`
}

// Lanes adds up records by lane, sorted by name. A refused call of an unknown tool has no lane: its Lane is empty.
// Use slices.Values for records in a slice.
func Lanes(records iter.Seq[switchyard.Record]) []LaneUse { return nil }
