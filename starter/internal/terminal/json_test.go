package terminal

import (
	"testing"

	"github.com/switchyard/switchyard/starter/clitest"
)

func TestJSONFields_AreDocumented(t *testing.T) {
	clitest.CheckDocumented(t, "../../..", ListedApproval{}, ListedQuestion{})
}
