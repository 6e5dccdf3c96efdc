package html

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"html/template"
	"io"
	"strings"

	"github.com/switchyard/switchyard/internal/pagestyle"
	"github.com/switchyard/switchyard/internal/value/display"
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
	return pages.ExecuteTemplate(visibleWriter{w}, name, page)
}

// visibleWriter replaces hidden characters, so that the output of a tool cannot hide or reorder
// what somebody reads. Templates write each value at once.
type visibleWriter struct{ io.Writer }

func (v visibleWriter) Write(p []byte) (int, error) {
	_, err := io.WriteString(v.Writer, display.ReplaceHidden(strings.ToValidUTF8(string(p), "\uFFFD"),
		"\n\t\r", func(rune) string { return "\uFFFD" }))
	return len(p), err
}
