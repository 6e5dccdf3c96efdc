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

//go:embed pages
var files embed.FS

var pages = template.Must(template.New("").ParseFS(files, "pages/*.html"))

// frame is the common part of all pages.
type frame struct {
	Title string
	// Policy is the content security policy. It allows the page's own script, by its digest, and
	// nothing else.
	Policy string
	Style  template.CSS
	Script template.JS
	// Made says what the page is about and when it was made.
	Made string
}

func file(name string) string {
	data, err := files.ReadFile(name)
	if err != nil {
		panic(err) // the file is embedded
	}
	return string(data)
}

// newFrame returns the frame of a page that runs a script; empty for none.
func newFrame(title, made, script string) frame {
	sum := sha256.Sum256([]byte(script))
	return frame{Title: title, Made: made, Script: template.JS(script),
		Style: template.CSS(pagestyle.Base + file("pages/style.css")),
		Policy: "default-src 'none'; base-uri 'none'; form-action 'none'; " +
			"style-src 'unsafe-inline'; img-src data:; script-src 'sha256-" +
			base64.StdEncoding.EncodeToString(sum[:]) + "'"}
}

// write writes a page without hidden characters, so that the output of a tool cannot hide or
// reorder what somebody reads.
func write(w io.Writer, name string, page any) error {
	var b strings.Builder
	if err := pages.ExecuteTemplate(&b, name, page); err != nil {
		return err
	}
	_, err := io.WriteString(w, display.ReplaceHidden(strings.ToValidUTF8(b.String(), "\uFFFD"),
		"\n\t\r", func(rune) string { return "\uFFFD" }))
	return err
}
