package turn

import (
	"testing"

	"github.com/switchyard/switchyard/api"
	"go.temporal.io/sdk/temporal"
)

// A priority has only the fields that differ from the workflow's, as the server combines them, and
// can override them.
func TestBeyond_OmitsWhatTheWorkflowHas(t *testing.T) {
	for _, test := range []struct {
		own      temporal.Priority
		priority api.Priority
		fairness string
		want     temporal.Priority
	}{
		{temporal.Priority{}, "", "", temporal.Priority{}},
		{temporal.Priority{}, api.PriorityNormal, "talk", temporal.Priority{FairnessKey: "talk"}},
		{temporal.Priority{}, api.PriorityLow, "talk", temporal.Priority{PriorityKey: 4,
			FairnessKey: "talk"}},
		{temporal.Priority{PriorityKey: 1, FairnessKey: "talk"}, api.PriorityUrgent, "talk",
			temporal.Priority{}},
		{temporal.Priority{PriorityKey: 1, FairnessKey: "talk"}, "", "talk",
			temporal.Priority{PriorityKey: 3}},
		{temporal.Priority{PriorityKey: 3}, api.PriorityNormal, "talk",
			temporal.Priority{FairnessKey: "talk"}},
		{temporal.Priority{FairnessKey: "talk"}, api.PriorityNormal, api.FairnessAll,
			temporal.Priority{FairnessKey: "all"}},
	} {
		if got := (Priority{own: test.own}).beyond(test.priority, test.fairness); got != test.want {
			t.Errorf("%q and %q beyond %+v: got %+v, want %+v", test.priority, test.fairness,
				test.own, got, test.want)
		}
	}
}
