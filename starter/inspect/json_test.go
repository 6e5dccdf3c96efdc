package inspect

import (
	"testing"

	"github.com/switchyard/switchyard"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/audit/lanestate"
	"github.com/switchyard/switchyard/internal/core/ledgerrules"
	"github.com/switchyard/switchyard/starter/clitest"
)

func TestJSONFields_AreDocumented(t *testing.T) {
	clitest.CheckDocumented(t, "../..", shownRun{}, api.Record{}, audit.Running{},
		audit.StreamEntry{}, ledgerrules.PrincipalUsage{}, switchyard.ListedRun{},
		lanesReport{}, lanestate.State{})
}
