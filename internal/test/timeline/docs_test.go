package timeline

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// pictures is the folder of the pictures of the page on lanes; maxPicture bounds each, in bytes.
const (
	pictures   = "../../../docs/lanes"
	maxPicture = 30_000
)

var shownPicture = regexp.MustCompile(`!\[[^\]]+\]\(lanes/([^)]+)\)`)

// The page on lanes shows exactly the existing pictures, and each is readable: well-formed, small,
// its text as text, with a title and a description.
func TestPictures_AreOnThePageAndReadable(t *testing.T) {
	page, err := os.ReadFile("../../../docs/lanes.md")
	if err != nil {
		t.Fatal(err)
	}
	var shown, there []string
	for _, m := range shownPicture.FindAllSubmatch(page, -1) {
		shown = append(shown, string(m[1]))
	}
	files, err := os.ReadDir(pictures)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		there = append(there, f.Name())
	}
	slices.Sort(shown)
	if !slices.Equal(shown, there) {
		t.Errorf("the page shows %q, and there are %q: make pictures draws them", shown, there)
	}
	for _, name := range there {
		svg, err := os.ReadFile(filepath.Join(pictures, name))
		if err != nil {
			t.Fatal(err)
		}
		list, text := elements(t, svg)
		for _, element := range []string{"svg", "title", "desc"} {
			if !slices.Contains(list, element) {
				t.Errorf("%s has no %s", name, element)
			}
		}
		if len(svg) > maxPicture || !strings.Contains(text, "prefers-color-scheme") {
			t.Errorf("%s has %d bytes, at most %d, and colours for dark surroundings", name,
				len(svg), maxPicture)
		}
	}
}
