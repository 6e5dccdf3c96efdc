package catalog

import (
	"testing"

	"github.com/switchyard/switchyard/internal/core/workerreport"
	"github.com/switchyard/switchyard/starter/clitest"
)

func TestJSONFields_AreDocumented(t *testing.T) {
	clitest.CheckDocumented(t, "../..", shownTool{}, workerreport.Policies{}, pinnedRun{},
		workerreport.Catalog{})
}
