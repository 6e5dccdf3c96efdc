package main

import (
	"io/fs"
	"net"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/labstack/echo/v4/middleware"
	"github.com/temporalio/ui-server/v2/server/api"
	"github.com/temporalio/ui-server/v2/server/auth"
	uiconfig "github.com/temporalio/ui-server/v2/server/config"
	"github.com/temporalio/ui-server/v2/server/cors"
	"github.com/temporalio/ui-server/v2/server/csrf"
	"github.com/temporalio/ui-server/v2/server/headers"
	"github.com/temporalio/ui-server/v2/server/route"
	"github.com/temporalio/ui-server/v2/ui"
)

// uiHeaders bounds the arrival of a request's headers, uiIdle the time that a connection stays open
// without a request.
const (
	uiHeaders = 10 * time.Second
	uiIdle    = 2 * time.Minute
)

// callerType is a header that pages of the Web UI send, and that the server gets.
const callerType = "Caller-Type"

// webUI is the running Web UI.
type webUI struct {
	server *http.Server
}

// startUI starts the Web UI on its reserved port and does not wait.
func startUI(cfg *settings, p *ports) (*webUI, error) {
	handler, err := uiHandler(&uiconfig.Config{
		EnableUI:            true,
		HideLogs:            true,
		DisableNewsFetch:    true, // nothing here needs a network
		DefaultNamespace:    cfg.namespaces[0],
		TemporalGRPCAddress: reachable(p.frontend.addr).String(),
		CORS:                uiconfig.CORS{CookieInsecure: true}, // served over plain HTTP
	})
	if err != nil {
		return nil, err
	}
	started := &webUI{server: &http.Server{Handler: onlyKnownHosts(cfg.uiHosts, handler),
		ReadHeaderTimeout: uiHeaders, IdleTimeout: uiIdle}}
	listener := p.ui.handOver()
	go func() { _ = started.serve(listener) }() // awaitReady finds a UI that does not answer
	return started, nil
}

func (u *webUI) serve(listener net.Listener) error { return u.server.Serve(listener) }

// Stop closes all connections.
func (u *webUI) Stop() { _ = u.server.Close() } // the process ends

// uiHandler returns the handler of the library's NewServer. The library does not export it, and
// checks no Host header.
func uiHandler(cfg *uiconfig.Config) (http.Handler, error) {
	provider, err := uiconfig.NewConfigProviderWithRefresh(cfg)
	if err != nil {
		return nil, err
	}
	secure := !cfg.CORS.CookieInsecure
	e := echo.New()
	e.Use(middleware.Recover(), middleware.Gzip(), cors.CORSMiddleware(cors.CORSConfig{
		AllowHeaders: []string{echo.HeaderOrigin, echo.HeaderContentType, echo.HeaderAccept,
			echo.HeaderXCSRFToken, echo.HeaderAuthorization, auth.AuthorizationExtrasHeader,
			callerType},
		AllowCredentials: true, ConfigProvider: provider,
	}), middleware.Secure(), csrf.EnsureTokenCookie(secure),
		middleware.CSRFWithConfig(csrf.MiddlewareConfig(provider, secure)))
	e.Pre(route.PublicPath(cfg.PublicPath))
	route.SetHealthRoute(e)
	forwarded := headers.WithForwardHeaders([]string{auth.AuthorizationExtrasHeader, callerType})
	if err := route.SetAPIRoutes(e, provider, []api.Middleware{forwarded}); err != nil {
		return nil, err
	}
	assets, err := ui.Assets()
	if err != nil {
		return nil, err
	}
	if assets, err = fs.Sub(assets, "local"); err != nil {
		return nil, err
	}
	route.SetUIRoutes(e, cfg.PublicPath, assets)
	route.SetRenderRoute(e, cfg.PublicPath)
	return e, nil
}
