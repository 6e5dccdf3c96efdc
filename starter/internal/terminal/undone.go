package terminal

import (
	"fmt"
	"io"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/starter/cli"
)

// maxUndone bounds the listed compensated calls.
const maxUndone = 50

// WriteUndone lists the compensation results of a run's calls. all is the command that shows all
// their records.
func WriteUndone(w io.Writer, p cli.Palette, undone []api.Undone, all string) {
	if len(undone) == 0 {
		return
	}
	fmt.Fprintf(w, "\n%s\n", p.Bold("undone calls"))
	for _, u := range undone[:min(len(undone), maxUndone)] {
		line := p.Good("undone") + " by " + u.CallID + " " + u.Tool
		if u.Error != nil {
			line = p.Bad("not undone") + " by " + u.CallID + " " + u.Tool + ": " +
				ErrorLine(u.Error)
		}
		fmt.Fprintf(w, "  %s %s %s\n", u.TargetCallID, u.TargetTool, line)
	}
	if more := len(undone) - maxUndone; more > 0 {
		fmt.Fprintf(w, "  … and %d more: %s\n", more, all)
	}
}
