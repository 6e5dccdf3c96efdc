package terminal

import (
	"testing"

	"github.com/switchyard/switchyard/starter/internal/clitest"
)

func TestJSONFields_AreDocumented(t *testing.T) {
	clitest.CheckDocumented(t, "../../..", ListedApproval{}, ListedQuestion{})
}
