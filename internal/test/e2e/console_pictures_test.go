package e2e

import "testing"

// With -update-pictures, the test redraws the pictures of the console in docs/pictures. The other
// tests in a browser check its pages.
func TestConsolePictures_AreRedrawn(t *testing.T) {
	if !*updatePictures {
		t.Skip("make pictures runs it")
	}
	const scene = "../../webui/scene/"
	b := newBrowserLab(t)
	b.workerIn(nil, "--tools", scene+"tools")
	_, console := b.console("127.0.0.1:0", "--tools", scene+"tools", "--ui-address",
		"http://127.0.0.1:8233")
	start := func(id string) {
		b.mustRun("run", scene+"bookkeeper.yaml", "Pay what is due.", "--id", id, "--caller", "ada",
			"--detach", "--tools", scene+"tools")
		b.awaitApprovals(id, 2)
	}
	start("done")
	b.mustRun("approve", "done", "2.1", "--by", "grace", "--yes")
	b.mustRun("approve", "done", "2.2", "--by", "grace", "--yes", "--edit", `{"amount": 75}`,
		"--reason", "minus the discount")
	b.mustRun("answer", "done", "2.3", "--text", "No. Ask for its number.", "--by", "bob")
	if _, err := b.dial().Open("done").Result(b.ctx); err != nil {
		t.Fatal(err)
	}
	start("month-end")
	b.browse("pictures", map[string]any{"console": console}, nil)
}
