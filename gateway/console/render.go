package console

import (
	"bytes"
	"cmp"
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

// content is what a handler gives to be shown.
type content struct {
	// Template is the name of the template, Section the part of the navigation.
	Template, Title, Section string
	// Status is that of the answer; default 200.
	Status int
	// Live says that the script reads the page again and again, Away that the server cannot be
	// reached, since when.
	Live, Away bool
	Since      time.Time
	Body       any
}

// frame is what templates show: the content, and what all pages share.
type frame struct {
	content
	// Script and Temporal are addresses: of the script, and of the namespace in the Temporal UI.
	Script, Temporal string
	Who              Principal
	// Waiting is the number of calls and questions that wait; negative if it is not known.
	Waiting int
	// Notice confirms what a form did.
	Notice  string
	Version string
	Made    time.Time
}

// show answers with a page. Like the other answers it returns no error, so that a handler can end
// with it.
func (p *page) show(c content) error {
	f := frame{content: c, Who: p.who, Script: static.Path(static.Script), Notice: p.notice(),
		Waiting: p.console.inbox.count(), Version: p.console.config.Version, Made: time.Now(),
		Temporal: p.console.temporalUI("")}
	var b bytes.Buffer
	if err := pages.ExecuteTemplate(&b, c.Template, f); err != nil {
		p.console.config.Logger.Error("a page cannot be shown", "path", p.r.URL.Path, "error", err)
		http.Error(p.w, "the page cannot be shown", http.StatusInternalServerError)
		return nil
	}
	p.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	p.w.WriteHeader(cmp.Or(c.Status, http.StatusOK))
	_, _ = b.WriteTo(p.w) // the browser may be gone
	return nil
}

// problem answers with a page that says what went wrong.
func (p *page) problem(status int, text string) error {
	away := status == http.StatusServiceUnavailable
	if away && p.r.Method == http.MethodPost { // the page must not send the form again
		away, text = false, unsure
	}
	return p.show(content{Template: "problem", Title: http.StatusText(status), Status: status,
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
	_ = p.problem(status, text) // it has answered
}

// redirect sends the browser to another page, after a form by GET.
func (p *page) redirect(path string) error {
	http.Redirect(p.w, p.r, path, http.StatusSeeOther)
	return nil
}

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
