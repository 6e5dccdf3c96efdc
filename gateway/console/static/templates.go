package static

import (
	"html/template"
	"io/fs"
	"maps"
	"net/http"

	"github.com/switchyard/switchyard/gateway/console/arguments"
)

// Parse returns the templates of a folder, with those that all pages share: document is the head of
// a page, small and end the frame of a page without navigation, both by their title; arguments and
// argument are those of package arguments.
func Parse(files fs.FS, own template.FuncMap) *template.Template {
	funcs := template.FuncMap{"visible": arguments.Visible,
		"style": func() string { return Path(Style) }}
	maps.Copy(funcs, own)
	t := template.Must(template.New("").Funcs(funcs).ParseFS(shared, "frame.html"))
	t = template.Must(t.ParseFS(arguments.Templates, "*.html"))
	return template.Must(t.ParseFS(files, "pages/*.html"))
}

// Show answers with a page.
func Show(w http.ResponseWriter, status int, t *template.Template, name string, page any) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_ = t.ExecuteTemplate(w, name, page) // the client is gone
}
