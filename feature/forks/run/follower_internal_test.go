package run

import (
	"encoding/json"
	"testing"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/feature/forks"
)

// The next execution of a fork knows the calls that the run has not asked for.
func TestFollower_CarriesRecordedCalls(t *testing.T) {
	f := &follower{calls: Calls{Recorded: []forks.RecordedCall{{Key: "k", Source: "call 9",
		Output: []byte("7")}}}}
	state := api.ContinueState{}
	f.Save(nil, &state)
	data, err := json.Marshal(state)
	if err != nil {
		t.Fatal(err)
	}
	var before api.ContinueState
	if err := json.Unmarshal(data, &before); err != nil {
		t.Fatal(err)
	}
	next := &follower{}
	next.Restore(nil, &before)
	if all := next.calls.Recorded; len(all) != 1 || all[0].Source != "call 9" ||
		string(all[0].Output) != "7" {
		t.Errorf("the next execution knows %+v", all)
	}
	none := api.ContinueState{}
	(&follower{}).Save(nil, &none)
	if none.Features != nil {
		t.Errorf("a run that is no fork carries %v", none.Features)
	}
}
