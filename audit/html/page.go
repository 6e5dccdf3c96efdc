package html

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"html/template"
	"io"
	"strings"
	"unicode"

	"github.com/switchyard/switchyard/internal/pagestyle"
)

//go:embed pages echarts/echarts.min.js
var files embed.FS

var pages = template.Must(template.New("").ParseFS(files, "pages/*.html"))

// frame is the common part of all pages.
type frame struct {
	Title string
	// Policy is the content security policy. It allows the page's own scripts, by their digests,
	// and nothing else.
	Policy  string
	Style   template.CSS
	Scripts []template.JS
	// Made says what the page is about and when it was made.
	Made string
}

func file(name string) string {
	data, err := files.ReadFile(name)
	if err != nil {
		panic(err) // the template is embedded
	}
	return string(data)
}

// newFrame returns the frame of a page that runs these scripts of the folder pages after the chart
// library.
func newFrame(title, made string, scripts ...string) frame {
	f := frame{Title: title, Made: made, Style: template.CSS(pagestyle.Base +
		file("pages/style.css"))}
	f.Scripts = []template.JS{template.JS(file("echarts/echarts.min.js"))}
	for _, s := range scripts {
		f.Scripts = append(f.Scripts, template.JS(file("pages/"+s)))
	}
	digests := make([]string, len(f.Scripts))
	for i, s := range f.Scripts {
		sum := sha256.Sum256([]byte(s))
		digests[i] = "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	f.Policy = "default-src 'none'; base-uri 'none'; form-action 'none'; style-src 'unsafe-inline'; img-src data:; script-src " +
		strings.Join(
			digests,
			" ",
		)
	return f
}

// write writes a page.
func write(w io.Writer, name string, page any) error {
	return pages.ExecuteTemplate(directed{w}, name, page)
}

// directed replaces the marks that change the direction of text, so that the output of a tool
// cannot reorder what somebody reads. Templates write each value at once.
type directed struct{ io.Writer }

func (d directed) Write(p []byte) (int, error) {
	_, err := directionMarks.WriteString(d.Writer, string(p))
	return len(p), err
}

var directionMarks = func() *strings.Replacer {
	var pairs []string
	for _, r := range unicode.Bidi_Control.R16 {
		for mark := rune(r.Lo); mark <= rune(r.Hi); mark += rune(r.Stride) {
			pairs = append(pairs, string(mark), "\uFFFD")
		}
	}
	return strings.NewReplacer(pairs...)
}()
