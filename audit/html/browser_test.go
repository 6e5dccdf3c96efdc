package html_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// chromium returns the path of Chromium: SWITCHYARD_CHROMIUM, or one on the PATH. Without one, the
// test is skipped; a named one must exist, so that a build cannot skip the tests.
func chromium(t *testing.T) string {
	t.Helper()
	if os.Getenv("SWITCHYARD_E2E") == "" {
		t.Skip("SWITCHYARD_E2E is not set: this test runs a browser; make test/e2e does")
	}
	if name := os.Getenv("SWITCHYARD_CHROMIUM"); name != "" {
		path, err := exec.LookPath(name)
		if err != nil {
			t.Fatal("SWITCHYARD_CHROMIUM: ", err)
		}
		return path
	}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("no Chromium: install one, or name it in SWITCHYARD_CHROMIUM")
	return ""
}

// opened returns the document after a browser has loaded it, and the output of the browser's
// console.
func opened(t *testing.T, page, fragment string, flags ...string) (document, console string) {
	t.Helper()
	program := chromium(t)
	file := filepath.Join(t.TempDir(), "page.html")
	if err := os.WriteFile(file, []byte(page), 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	profile := t.TempDir()
	arguments := append(
		[]string{
			"--headless",
			"--no-sandbox",
			"--disable-gpu",
			"--disable-quic",
			"--no-first-run",
			"--disable-background-networking",
			"--disable-component-update",
			"--disable-sync",
			"--disable-dev-shm-usage",
			"--user-data-dir=" + profile,
			"--window-size=1300,1000",
			"--enable-logging=stderr",
			"--dump-dom",
		},
		flags...)
	cmd := exec.CommandContext(ctx, program, append(arguments, "file://"+file+fragment)...)
	var out, log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &log
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s", program, err, log.String())
	}
	return out.String(), strings.Join(
		regexp.MustCompile(`.*CONSOLE.*`).FindAllString(log.String(), -1),
		"\n",
	)
}

// checkDrawn checks that a page has drawn the given numbers of bars and rows, without an error.
func checkDrawn(t *testing.T, page string, calls int, document, console string) {
	t.Helper()
	root := regexp.MustCompile(`<html[^>]*>`).FindString(document)
	if console != "" || strings.Contains(root, "data-fault") {
		t.Errorf("the page has a fault: %s\n%s", root, console)
	}
	for _, want := range []string{`data-ready="` + page + `"`, fmt.Sprintf(`data-drawn="%d"`,
		calls)} {
		if !strings.Contains(root, want) {
			t.Errorf("the page is %s, want %s", root, want)
		}
	}
	if rows := strings.Count(document, `<a href="#call-`); rows != calls {
		t.Errorf("the table has %d rows, want %d", rows, calls)
	}
}

// The pages are short and long ones, trees of runs, runs without calls, and runs whose texts
// contain markup.
func TestTimeline_DrawsInABrowser(t *testing.T) {
	for _, tt := range []struct {
		name  string
		calls int
		page  func() string
		// fragment selects a call; says is text that the page must then have.
		fragment, says string
	}{
		{"five calls", 5, func() string { return written(t, made(5, "小さな助手")) }, "#call-4",
			"docs/日本語.md"},
		{"5,000 calls", 5000, func() string { return written(t, made(5000, "helper")) },
			"#call-4999", `"limit": 5000`},
		{"a tree", 9, func() string {
			return written(t, recorded(t, 1, "sub_agents",
				"sub_agents_1.1", "sub_agents_1.1_1.1"))
		}, "#call-0", "find its sub-agent"},
		{"no calls", 0, func() string { return written(t, made(0, "idle")) }, "#call-0",
			"This run made no calls."},
		{"evil", 1, func() string { return written(t, poisoned()) }, "#call-0",
			"previous attempt"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			document, console := opened(t, tt.page(), tt.fragment)
			checkDrawn(t, "timeline", tt.calls, document, console)
			if !strings.Contains(document, tt.says) {
				t.Errorf("the page does not say %q", tt.says)
			}
		})
	}
}
