package catalog

import (
	"testing"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/starter/internal/clitest"
)

func TestJSONFields_AreDocumented(t *testing.T) {
	clitest.CheckDocumented(t, "../..", listedTool{}, shownTool{}, api.PoliciesInForce{}, pinnedRun{},
		api.WorkerCatalog{})
}
