package html_test

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/audit/html"
)

// policyReplay returns the page of a replay with names that contain the text.
func policyReplay(t *testing.T, name string) string {
	t.Helper()
	r := &html.PolicyReplay{Calls: 1200, Runs: 40, Same: 1100, Changed: 90, Undecided: 10,
		Now: noon, Of: "policies.yaml --since 720h" + name, Notes: []string{"only the newest 40 runs", name},
		Changes: []html.PolicyChange{
			{Was: "allow", Would: "deny", Tool: "pay" + name, Rule: "no-payments" + name, Calls: 60,
				Runs: 20, First: "run-1" + name + " 2.1"},
			{Was: "allow", Would: "ask", Tool: "pay" + name, Rule: "large", Calls: 20, Runs: 9,
				First: "run-2 1.1"},
			{Was: "deny", Would: "allow", Tool: "look", Calls: 10, Runs: 3, First: "run-3 1.1"}},
		Rules: []html.PolicyRule{{Rule: "no-payments" + name, Then: "deny", Matched: 60, Failed: 2},
			{Rule: "large", Then: "ask", Matched: 20, Undecided: 10}}}
	var b bytes.Buffer
	if err := r.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestPolicyReplay_HasTheFiguresOfTheReplay(t *testing.T) {
	page := policyReplay(t, "")
	for title, want := range map[string]string{
		"Calls that would be decided otherwise": "tool was would rule calls runs first call " +
			"pay allow deny no-payments 60 20 run-1 2.1 pay allow ask large 20 9 run-2 1.1 " +
			"look deny allow 10 3 run-3 1.1",
		"Rules": "rule then matched failed undecided no-payments deny 60 2 0 large ask 20 0 10",
		"Changed decisions by tool": "tool would be denied would need approval would have a warning " +
			"would be allowed pay 60 20 0 0 look 0 0 0 10",
		"Changed decisions by rule": "rule would be denied would need approval would have a warning " +
			"would be allowed no-payments 60 0 0 0 large 0 20 0 0 no rule 0 0 0 10",
		"Calls by rule": "rule matched failed undecided no-payments 60 2 0 large 20 0 10",
	} {
		if got := cells(page, title); got != want {
			t.Errorf("%s: %q, want %q", title, got, want)
		}
	}
	for _, want := range []string{"<b>1,200</b>calls<span>of 40 runs</span>",
		"<b>90</b>decided otherwise<span>7.5 % of the calls</span>", "<b>10</b>undecided",
		"Selected: policies.yaml --since 720h. Only the newest 40 runs."} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}

// A replay without calls has no empty table and no chart.
func TestPolicyReplay_SaysThatNothingChanges(t *testing.T) {
	var b bytes.Buffer
	if err := (&html.PolicyReplay{Now: noon}).Write(&b); err != nil {
		t.Fatal(err)
	}
	if page := b.String(); !strings.Contains(page, "The rules decide every call as before.") ||
		!strings.Contains(page, "There are no rules.") || strings.Contains(page, `class="plot"`) {
		t.Error("an empty replay has no notes, or charts")
	}
}

// Names that contain markup are text, and the page loads nothing.
func TestPolicyReplay_EscapesNames(t *testing.T) {
	page := policyReplay(t, evil)
	markup := regexp.MustCompile(`(?s)<script[ >].*?</script>|<style>.*?</style>`).
		ReplaceAllString(page, "")
	for _, element := range regexp.MustCompile(`<(?:img|script|link|iframe)\b[^>]*>`).
		FindAllString(markup, -1) {
		t.Errorf("the page has the element %q", element)
	}
	if loads := regexp.MustCompile(`(?:src|href)="[^"]*"`).FindString(markup); loads != "" {
		t.Errorf("the page loads %q", loads)
	}
}

func TestPolicyReplay_DrawsInABrowser(t *testing.T) {
	t.Parallel()
	page := policyReplay(t, evil)
	document, console := opened(t, page, "")
	root := regexp.MustCompile(`<html[^>]*>`).FindString(document)
	charts := strings.Count(page, `class="plot"`)
	if console != "" || strings.Contains(root, "data-fault") || charts != 3 ||
		!strings.Contains(root, fmt.Sprintf(`data-drawn="%d"`, charts)) ||
		strings.Count(document, "<svg") != charts {
		t.Errorf("%d charts, %s\n%s", charts, root, console)
	}
}
