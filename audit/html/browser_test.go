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

	"github.com/switchyard/switchyard/audit/html"
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

// The address of an entry opens it. Pages run nothing but their own script, also where texts of the
// run contain markup.
func TestTimeline_OpensInABrowser(t *testing.T) {
	for name, tt := range map[string]struct {
		timeline *html.Timeline
		row      int
	}{
		"5,000 calls": {made(5000, "helper"), 5000},
		"evil":        {poisoned(), 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			document, console := opened(t, written(t, tt.timeline), fmt.Sprint("#row-", tt.row))
			if console != "" || strings.Contains(document, "data-fault") {
				t.Errorf("the page has a fault: %s", console)
			}
			if !regexp.MustCompile(fmt.Sprintf(`<details class="[a-z ]*" open=""><summary>.*?</summary>`+
				`<dl id="row-%d">`, tt.row)).MatchString(document) {
				t.Error("the entry is closed")
			}
			if strings.Contains(document, `id="filter"`) && strings.Contains(document, `hidden=""`) {
				t.Error("the script did not run")
			}
		})
	}
}
