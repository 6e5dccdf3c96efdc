package console

import (
	"bytes"
	"embed"
	"html/template"
	"net/http"
	"strings"
	"time"

	"github.com/switchyard/switchyard/gateway/console/static"
)

//go:embed pages
var files embed.FS

var pages = static.Parse(files, funcs)

// page is one request and the page that answers it.
type page struct {
	console *Console
	w       http.ResponseWriter
	r       *http.Request
	who     Principal
}

// frame is the part that all pages share. Templates reach the rest as Body.
type frame struct {
	Title, Section string
	// Script is an address.
	Script string
	// Live says that the script reads the page again and again.
	Live bool
	Who  Principal
	// Waiting is the number of calls and questions that wait; negative if it is not known.
	Waiting int
	// Away says that the server cannot be reached, since when.
	Away    bool
	Since   time.Time
	Notice  string
	Version string
	Made    time.Time
	// Temporal is the address of the namespace in the Temporal UI.
	Temporal string
	Body     any
}

// content is what a handler gives to be shown.
type content struct {
	// Template is the name of the template, Status that of the answer; default 200.
	Template, Title, Section, Notice string
	Status                           int
	Live, Away                       bool
	Since                            time.Time
	Body                             any
}

// show answers with a page.
func (p *page) show(c content) {
	f := frame{Title: c.Title, Section: c.Section, Live: c.Live, Who: p.who, Body: c.Body,
		Script:  static.Path(static.Script),
		Waiting: p.console.inbox.count(), Away: c.Away, Since: c.Since, Notice: c.Notice,
		Version: p.console.config.Version, Made: time.Now(), Temporal: p.console.temporalUI("")}
	var b bytes.Buffer
	if err := pages.ExecuteTemplate(&b, c.Template, f); err != nil {
		p.console.config.Logger.Error("a page cannot be shown", "path", p.r.URL.Path, "error", err)
		http.Error(p.w, "the page cannot be shown", http.StatusInternalServerError)
		return
	}
	p.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	if c.Status != 0 {
		p.w.WriteHeader(c.Status)
	}
	_, _ = b.WriteTo(p.w) // the browser may be gone
}

// problem answers with a page that says what went wrong.
func (p *page) problem(status int, text string) {
	away := status == http.StatusServiceUnavailable
	if away && p.r.Method == http.MethodPost { // the page must not send the form again
		away, text = false, unsure
	}
	p.show(content{Template: "problem", Title: http.StatusText(status), Status: status,
		Away: away, Body: text})
}

// fail answers with a page about an error.
func (p *page) fail(err error) {
	if p.r.Context().Err() != nil {
		return
	}
	status, text := explain(err)
	if status == http.StatusServiceUnavailable {
		p.console.config.Logger.Warn("a page cannot be read", "path", p.r.URL.Path, "error", err)
	}
	p.problem(status, text)
}

// redirect sends the browser to another page, after a form by GET.
func (p *page) redirect(path string) { http.Redirect(p.w, p.r, path, http.StatusSeeOther) }

// temporalUI returns the address of a run in the Temporal UI, or that of the namespace; empty if
// the UI is not known.
func (c *Console) temporalUI(id string) string {
	if c.config.TemporalUI == "" {
		return ""
	}
	address := strings.TrimRight(c.config.TemporalUI, "/") + "/namespaces/" +
		template.URLQueryEscaper(c.backend.namespace()) + "/workflows"
	if id != "" {
		address += "/" + strings.ReplaceAll(template.URLQueryEscaper(id), "+", "%20")
	}
	return address
}
