package operate

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/switchyard/switchyard/starter/cli"
	"github.com/switchyard/switchyard/toolspecs/folder"
)

// tellKept explains on standard error how to open the printed addresses after the server has
// stopped. Standard output belongs to the command.
func tellKept(a *cli.App, server serverReady, f *devFlags) error {
	_, port, ok := strings.Cut(strings.TrimPrefix(server.UI, "http://"), ":")
	if f.db == "" || !ok || a.Format.JSON() {
		return nil
	}
	_, err := fmt.Fprintf(a.Err,
		"\nThe server stops and keeps its runs in %s. To look at them in its Web UI, start it again and open %s:\n  %s dev --db-filename %s --ui-port %s%s\n",
		f.db, server.UI, a.Connection.Program(), f.db, port, a.Connection.StorageFlags())
	return err
}

// tellReady prints the addresses.
func tellReady(a *cli.App, s *devStack, f *devFlags) error {
	if a.Format.JSON() {
		out := map[string]any{"address": s.serverReady.Address,
			"ui": s.serverReady.UI, "namespace": s.serverReady.Namespace,
			"task_queue": s.workerReady.TaskQueue, "lanes": s.workerReady.Lanes,
			"tools": s.workerReady.Tools, "logs": s.logs}
		if s.gateway != nil {
			out["gateway"] = s.gateway.ready
		}
		return cli.WriteJSON(a.Out, out, false)
	}
	p := a.PaletteFor(a.Out)
	connect := ""
	if f.port != defaultPort {
		connect = " --address " + s.serverReady.Address
	}
	if s.serverReady.UI != "" && cli.DerivedUI(s.serverReady.Address) != s.serverReady.UI {
		connect += " --ui-address " + s.serverReady.UI
	}
	fmt.Fprintf(a.Out, "%s  %s, namespace %s, runs stored in %s\n", p.Bold("server"),
		s.serverReady.Address, s.serverReady.Namespace, cmp.Or(f.db, "memory"))
	if s.serverReady.UI != "" {
		fmt.Fprintf(a.Out, "%s  %s\n", p.Bold("Web UI"), s.serverReady.UI)
	}
	fmt.Fprintf(a.Out, "%s  lanes %s; tools %s\n", p.Bold("worker"),
		strings.Join(s.workerReady.Lanes, ", "), fewOf(s.workerReady.Tools))
	s.gateway.tell(a)
	fmt.Fprintf(a.Out, "%s  %s\n", p.Bold("logs  "), s.logs)
	return a.Println("\nIn another terminal: " + a.Connection.Program() + connect +
		a.Connection.StorageFlags() + " call echo text=hello\nCtrl-C stops everything.")
}

// maxShownTools is how many tools the line of the worker names.
const maxShownTools = 6

// fewOf names some tools and counts the others.
func fewOf(tools []string) string {
	shown := strings.Join(tools[:min(len(tools), maxShownTools)], ", ")
	if left := len(tools) - maxShownTools; left > 0 {
		shown += fmt.Sprintf(" and %d more", left)
	}
	return shown
}

// reloadLine is a line of the worker about an edit of toolspecs.
type reloadLine struct {
	Event   folder.CatalogEventType `json:"event"`
	Tool    string                  `json:"tool"`
	Version string                  `json:"version"`
	File    string                  `json:"file"`
	Error   string                  `json:"error"`
}

// tellReload prints what became of an edit of toolspecs. line is of the worker.
func (s *devStack) tellReload(line []byte) {
	var r reloadLine
	if s.reloads == nil || json.Unmarshal(line, &r) != nil {
		return
	}
	words := map[folder.CatalogEventType]string{folder.ToolAdded: "is added",
		folder.ToolUpdated: "is reloaded", folder.ToolRemoved: "is removed"}[r.Event]
	switch {
	case r.Event == folder.LoadError:
		fmt.Fprintf(s.reloads, "starter: %s is not in effect; what was valid stays:\n%s\n", r.File,
			r.Error)
	case words != "":
		fmt.Fprintf(s.reloads, "starter: the tool %s %s %s (%s)\n", r.Tool, r.Version, words,
			r.File)
	}
}
