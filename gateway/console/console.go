// Package console serves pages on which people decide about waiting calls, answer questions, and
// follow and control runs. The pages are complete without JavaScript; a small script keeps them up
// to date.
package console

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"

	"github.com/switchyard/switchyard"
	"github.com/switchyard/switchyard/gateway/login"
	"github.com/switchyard/switchyard/gateway/routes"
	"github.com/switchyard/switchyard/internal/core/workerreport"
	"github.com/switchyard/switchyard/toolspecs"
)

// Path is the address below which the console serves.
const Path = routes.ConsolePath

// Principal is the person who uses the console.
type Principal = login.Principal

// Config describes a console.
type Config struct {
	// Client reaches the runs; required.
	Client *switchyard.Client
	// Catalog returns the tools, whose schemas make the forms for edits; required.
	Catalog func() *toolspecs.Catalog
	// Principal returns who sent a request; required. It is called after the login has let the
	// request pass: it bounds forms, reads them and checks their token.
	Principal func(*http.Request) Principal
	// Workers asks the workers for their tools; default none are shown.
	Workers func(context.Context) (workerreport.Report, error)
	// TaskQueue is that of the workers whose lanes are shown; default api.DefaultTaskQueue.
	TaskQueue string
	// TemporalUI is the address of the Temporal UI; empty for no links to it.
	TemporalUI string
	// Version is shown at the end of pages.
	Version string
	// Logger gets errors of pages, and Audit what people decide and control, and what is refused;
	// default none.
	Logger, Audit *slog.Logger
}

// Console serves the pages. Create it with New.
type Console struct {
	config  Config
	backend backend
	inbox   *poller
	views   *viewCache
	workers workerTools
	// reporting is held while a report reads its runs.
	reporting chan struct{}
	pages     routes.Pages
}

// New returns a console. It returns an error if the configuration misses something.
func New(c Config) (*Console, error) {
	if c.Client == nil || c.Catalog == nil || c.Principal == nil {
		return nil, errors.New("a console needs Client, Catalog and Principal")
	}
	return newConsole(c, newServer(c)), nil
}

func newConsole(config Config, b backend) *Console {
	config.Version = cmp.Or(config.Version, "dev")
	none := slog.New(slog.DiscardHandler)
	config.Logger, config.Audit = cmp.Or(config.Logger, none), cmp.Or(config.Audit, none)
	c := &Console{config: config, backend: b, inbox: newPoller(b), views: &viewCache{backend: b},
		workers: workerTools{ask: config.Workers}, reporting: make(chan struct{}, 1)}
	c.pages = c.routes()
	return c
}

// routes returns the pages with the role that each needs.
func (c *Console) routes() routes.Pages {
	view := func(serve func(*page) error) routes.Methods {
		return routes.Methods{http.MethodGet: c.handle(Principal.View, serve)}
	}
	// form is a page that also takes a form, from people who may send it.
	form := func(show func(*page) error, may func(Principal) bool,
		act func(*page) error) routes.Methods {
		return routes.Methods{http.MethodGet: c.handle(Principal.View, show),
			http.MethodPost: c.handle(may, act)}
	}
	return routes.Pages{
		"":           view(func(p *page) error { return p.redirect("/console/inbox") }),
		"inbox":      view(c.showInbox),
		"call":       form(c.showCall, Principal.Approve, c.decide),
		"question":   form(c.showQuestion, Principal.Answer, c.answer),
		"runs":       view(c.showRuns),
		"run":        form(c.showRun, Principal.Operate, c.control),
		"run/result": view(c.showResult),
		"report":     view(c.showReport),
		"lanes":      view(c.showLanes),
		"tools":      view(c.showTools),
	}
}

// handle returns the handler of a page for people who have a role. Errors of serve become pages.
func (c *Console) handle(may func(Principal) bool, serve func(*page) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		p := &page{console: c, w: w, r: r, who: c.config.Principal(r)}
		w.Header().Set("Cache-Control", "no-store")
		err := p.check(may)
		if err == nil {
			err = serve(p)
		}
		if err != nil {
			p.fail(err)
		}
	}
}

// check returns why a request is not served.
func (p *page) check(may func(Principal) bool) error {
	refusal := errRole
	switch {
	case p.r.Method == http.MethodPost && p.r.Header.Get("Sec-Fetch-Site") == "cross-site":
		refusal = errCrossSite
	case may(p.who):
		if name, ok := p.findInvalidID(); ok {
			return &switchyard.RequestError{Type: switchyard.RunNotFound,
				Message: "there is no such " + name}
		}
		return nil
	}
	p.audit("request", "", refusal)
	return refusal
}

// findInvalidID returns what a request names by an ID that nothing can have: the server takes IDs
// of printable ASCII only.
func (p *page) findInvalidID() (kind string, ok bool) {
	for name, kind := range map[string]string{"id": "run", "run": "run", "run_id": "run",
		"call": "call", "question": "question"} {
		if strings.ContainsFunc(p.r.FormValue(name),
			func(r rune) bool { return r < ' ' || r > '~' }) {
			return kind, true
		}
	}
	return "", false
}

// ServeHTTP serves requests that routes.Handlers has routed to a page.
func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) { c.pages.ServeHTTP(w, r) }
