package gateway

//lint:file-ignore SA1019 clients use log messages as long as the protocol has them

import (
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/switchyard/switchyard/api"
)

// liveEvery is how often a client that wants progress hears what the tool reports.
const liveEvery = time.Second

// toldProgress is what a client was told of the progress of its call. Progress only increases: what
// a tool reports is told on top of the seconds that were told before its first report.
type toldProgress struct {
	at, live time.Time
	last     float64
	// base is what was told before the first report of the tool, and last report what it reported.
	base   float64
	report *api.Progress
}

// tellState tells the client that its call still runs, unless the tool reports progress itself.
func (c *openCall) tellState() {
	if c.progress == nil || c.told.report != nil ||
		!c.told.at.IsZero() && time.Since(c.told.at) < progressEvery {
		return
	}
	c.tell(max(c.told.last+1, time.Since(c.began).Seconds()), 0, stateText(c.status))
	c.told.base = c.told.last
}

// tellLive tells the client what the tool of its call reports now.
func (c *openCall) tellLive() {
	if c.progress == nil || c.status.State != api.SessionCallRunning ||
		time.Since(c.told.live) < liveEvery {
		return
	}
	c.told.live = time.Now()
	// Progress is an extra: without it the client hears that the call runs.
	if p, err := c.config.Sessions.Progress(c.ctx, c.session, c.id); err == nil && p != nil {
		c.tellProgress(*p)
	}
}

// tellProgress tells the client a report of the tool, unless it was told that or a later one.
func (c *openCall) tellProgress(p api.Progress) {
	at := c.told.base + p.Done
	if c.progress == nil || c.told.report != nil && (*c.told.report == p || at < c.told.last) {
		return
	}
	total := p.Total
	if total > 0 {
		total += c.told.base
	}
	c.told.report = &p
	c.tell(at, total, p.Message)
}

func (c *openCall) tell(progress, total float64, message string) {
	c.told.at, c.told.last = time.Now(), progress
	// A client that is gone is noticed by its context.
	_ = c.request.session.NotifyProgress(c.ctx, &mcp.ProgressNotificationParams{
		ProgressToken: c.progress, Progress: progress, Total: total, Message: message})
}

// tellReports tells the client what the tool reported that no heartbeat has told: log messages, and
// the last progress.
func (c *openCall) tellReports(res *api.Result) {
	if res == nil {
		return
	}
	for _, r := range res.Reports {
		switch {
		case r.Progress != nil:
			c.tellProgress(*r.Progress)
		case r.Log != nil:
			// The SDK drops what the client has not asked for.
			_ = c.request.session.Log(c.ctx, &mcp.LoggingMessageParams{Data: r.Log.Data,
				Level: mcp.LoggingLevel(r.Log.Level), Logger: r.Log.Logger})
		}
	}
}
