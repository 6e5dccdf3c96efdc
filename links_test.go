package switchyard_test

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// inlineLink matches the target of a Markdown link or image. codeSpan matches inline code, which
// has no links.
var (
	inlineLink = regexp.MustCompile(`\]\(([^()\s]+(?:\([^()\s]*\))?)(?:\s+"[^"]*")?\)`)
	codeSpan   = regexp.MustCompile("`[^`]*`")
	headline   = regexp.MustCompile(`^#{1,6}\s+(.*?)\s*#*$`)
	anchorID   = regexp.MustCompile(`<a\s+(?:id|name)="([^"]+)"`)
	linkText   = regexp.MustCompile(`!?\[([^\]]*)\]\([^)]*\)`)
	notInSlug  = regexp.MustCompile(`[^\p{L}\p{N}\p{M}_ -]`)
)

// proseLines yields the lines of a page outside of fenced code, by their numbers from 1.
func proseLines(text string) map[int]string {
	lines, fenced := map[int]string{}, false
	for i, line := range strings.Split(text, "\n") {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			fenced = !fenced
		} else if !fenced {
			lines[i+1] = line
		}
	}
	return lines
}

// anchors returns the anchors of a page as GitHub derives them from headlines.
func anchors(text string) map[string]bool {
	found, count := map[string]bool{}, map[string]int{}
	lines := proseLines(text)
	for i := range strings.Count(text, "\n") + 1 {
		line := lines[i+1]
		for _, m := range anchorID.FindAllStringSubmatch(line, -1) {
			found[m[1]] = true
		}
		m := headline.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		title := strings.ToLower(linkText.ReplaceAllString(m[1], "$1"))
		slug := strings.ReplaceAll(notInSlug.ReplaceAllString(title, ""), " ", "-")
		if n := count[slug]; n > 0 {
			found[fmt.Sprintf("%s-%d", slug, n)] = true
		} else {
			found[slug] = true
		}
		count[slug]++
	}
	return found
}

// linkFaults returns the relative links of the page at name whose file or anchor does not exist.
// read returns the text of a file of the repository; nil for a folder.
func linkFaults(name, text string, read func(name string) ([]byte, error)) []string {
	var faults []string
	lines := proseLines(text)
	for i := range strings.Count(text, "\n") + 1 {
		line := codeSpan.ReplaceAllString(lines[i+1], "`code`")
		for _, m := range inlineLink.FindAllStringSubmatch(line, -1) {
			file, anchor, anchored := strings.Cut(m[1], "#")
			if strings.Contains(file, ":") {
				continue // an address
			}
			page, target := []byte(text), name
			if file != "" {
				target = path.Join(path.Dir(name), file)
				var err error
				if page, err = read(target); err != nil {
					faults = append(faults, fmt.Sprintf("%s:%d: the link %s leads to no file",
						name, i+1, m[1]))
					continue
				}
			}
			if anchored && strings.HasSuffix(target, ".md") && !anchors(string(page))[anchor] {
				faults = append(faults, fmt.Sprintf("%s:%d: %s has no headline for the link %s",
					name, i+1, target, m[1]))
			}
		}
	}
	return faults
}

func TestLinks_LeadToFilesAndHeadlines(t *testing.T) {
	pages := files(t, func(base string) bool { return strings.HasSuffix(base, ".md") })
	read := func(name string) ([]byte, error) {
		info, err := os.Stat(filepath.FromSlash(name))
		if err != nil || info.IsDir() {
			return nil, err
		}
		return os.ReadFile(filepath.FromSlash(name))
	}
	for _, page := range pages {
		if strings.Contains("/"+page.name, "/testdata/") {
			continue
		}
		for _, fault := range linkFaults(page.name, string(page.text), read) {
			t.Error(fault)
		}
	}
}

func TestLinkFaults_NamesBrokenLinksOnly(t *testing.T) {
	pages := map[string]string{
		"docs/a.md": strings.Join([]string{
			"# Title of `a.b`, twice", "# Title of `a.b`, twice", "```", "[code](no.md)", "```",
			"[b](b.md) [b](b.md#part-1) [self](#title-of-ab-twice-1) [web](https://x.y/z#q)",
			"`[code](no.md)` ![picture](../p.svg) [folder](../docs)",
			"[no file](c.md) [no headline](b.md#none)", "[not here](#gone)",
		}, "\n"),
		"docs/b.md": "# Part 1\n", "p.svg": "", "docs": "",
	}
	got := linkFaults("docs/a.md", pages["docs/a.md"], func(name string) ([]byte, error) {
		if text, ok := pages[name]; ok {
			return []byte(text), nil
		}
		return nil, os.ErrNotExist
	})
	want := []string{
		"docs/a.md:8: the link c.md leads to no file",
		"docs/a.md:8: docs/b.md has no headline for the link b.md#none",
		"docs/a.md:9: docs/a.md has no headline for the link #gone",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestDocumentation_ListsEveryPage(t *testing.T) {
	index := readText(t, "docs/README.md")
	for _, page := range pages(t, "docs/*.md", "docs/dev/*.md") {
		name := strings.TrimPrefix(page, "docs/")
		if name != "README.md" && !strings.Contains(index, "]("+name+")") {
			t.Errorf("docs/README.md does not link %s", name)
		}
	}
}

// The documentation for users, without that for contributors, is no longer than one reads.
func TestDocumentation_FitsItsBudget(t *testing.T) {
	const maxPages, maxWords = 32, 50_000
	list, words := pages(t, "docs/*.md"), 0
	for _, page := range list {
		words += len(strings.Fields(readText(t, page)))
	}
	if len(list) > maxPages || words > maxWords {
		t.Errorf("docs has %d pages of %d words, the budget is %d pages of %d words", len(list),
			words, maxPages, maxWords)
	}
}

// pages returns the files that match the patterns, with slashes; there has to be one.
func pages(t *testing.T, patterns ...string) (list []string) {
	t.Helper()
	for _, pattern := range patterns {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %d pages, %v", pattern, len(found), err)
		}
		for _, name := range found {
			list = append(list, filepath.ToSlash(name))
		}
	}
	return list
}
