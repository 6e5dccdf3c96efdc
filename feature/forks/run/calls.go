package run

import (
	"encoding/json"
	"slices"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/feature/forks"
)

// Calls are the calls of a forked run's source that are not executed again. The zero value is that
// of a run that was not forked.
type Calls struct {
	// Recorded are those that the run has not asked for yet, in the order of the source.
	Recorded []forks.RecordedCall
}

// Take removes and returns the first recorded call that equals a call of the model: as the model
// wrote it, or else as it would be executed. It returns nil for none. The caller asks before the
// call is batched, edited or approved: what becomes of a call depends on the other calls of its
// turn and on people, and none of that makes it another call.
func (c *Calls) Take(call api.Call, tool api.Tool, arguments json.RawMessage) *forks.RecordedCall {
	if len(c.Recorded) == 0 || tool.Effect != api.EffectOnce || call.OfRun() {
		return nil
	}
	written := api.CallDigest(tool.Name, call.Arguments)
	executed := api.CallDigest(tool.Name, string(arguments))
	i := slices.IndexFunc(c.Recorded, func(r forks.RecordedCall) bool { return r.Key == written })
	if i < 0 {
		i = slices.IndexFunc(c.Recorded, func(r forks.RecordedCall) bool {
			return r.Executed == executed
		})
	}
	if i < 0 {
		return nil
	}
	r := c.Recorded[i]
	c.Recorded = slices.Delete(slices.Clone(c.Recorded), i, i+1)
	return &r
}

// Return takes back a recorded call whose outcome no call got, because that call was denied or
// refused.
func (c *Calls) Return(r forks.RecordedCall) {
	c.Recorded = slices.Insert(slices.Clone(c.Recorded), 0, r)
}
