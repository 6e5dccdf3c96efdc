package runs

import (
	"testing"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/starter/clitest"
)

func TestJSONFields_AreDocumented(t *testing.T) {
	clitest.CheckDocumented(t, "../..", shownSchedule{}, scheduledRun{}, api.Event{},
		api.RunResult{})
}
