package decide

import (
	"testing"

	"github.com/switchyard/switchyard"
	"github.com/switchyard/switchyard/starter/clitest"
)

func TestJSONFields_AreDocumented(t *testing.T) {
	clitest.CheckDocumented(t, "../..", switchyard.Approval{}, switchyard.Question{})
}
