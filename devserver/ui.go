package main

import (
	uiserver "github.com/temporalio/ui-server/v2/server"
	uiconfig "github.com/temporalio/ui-server/v2/server/config"
	uioptions "github.com/temporalio/ui-server/v2/server/server_options"
)

// webUI is the running Web UI.
type webUI struct {
	*uiserver.Server
}

// startUI starts the Web UI on its reserved port and does not wait. A UI that cannot listen ends
// the process with its own message, because the library offers no other way.
func startUI(cfg *settings, p *ports) *webUI {
	host := p.ui.addr.Addr().String()
	if p.ui.addr.Addr().Is6() {
		host = "[" + host + "]" // the library puts a colon and the port behind it
	}
	ui := &webUI{uiserver.NewServer(uioptions.WithConfigProvider(&uiconfig.Config{
		Host:                host,
		Port:                p.ui.port(),
		EnableUI:            true,
		HideLogs:            true,
		DisableNewsFetch:    true, // nothing here needs a network
		DefaultNamespace:    cfg.namespaces[0],
		TemporalGRPCAddress: reachable(p.frontend.addr).String(),
		CORS:                uiconfig.CORS{CookieInsecure: true}, // served over plain HTTP
	}))}
	p.ui.release()
	go func() { _ = ui.Start() }() // returns nil after Stop, and otherwise never
	return ui
}
