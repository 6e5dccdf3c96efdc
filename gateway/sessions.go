package gateway

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/switchyard/switchyard/api"
)

// Sessions makes the calls of clients in durable sessions. Errors that are a *api.ControlError say
// why a session refused a request; others say that the session could not be reached.
type Sessions interface {
	// Submit submits a call to a session, which it starts if it does not run.
	Submit(ctx context.Context, s Session, call api.SessionCall) (api.SessionCallStatus, error)
	// Status returns the status of a call. execution is the RunID of an earlier status of the call,
	// by which a call of a session that has ended since is found; empty if it is unknown. The state
	// is api.SessionCallUnknown if there is no such call.
	Status(ctx context.Context, s Session, call, execution string) (api.SessionCallStatus, error)
	// Progress returns the last progress of a call that runs; nil if there is none.
	Progress(ctx context.Context, s Session, call string) (*api.Progress, error)
	// Cancel cancels a call, Leave keeps its result for the next equal call, End ends a session.
	// They return once the session has accepted it.
	Cancel(ctx context.Context, s Session, c api.CancelCall) error
	Leave(ctx context.Context, s Session, l api.LeaveCall) error
	End(ctx context.Context, s Session, e api.EndSession) error
	// Approvals returns the calls of all runs that wait for approval, oldest first.
	Approvals(ctx context.Context) ([]OpenApproval, error)
	// Decide decides about a call of a run, and Answer answers a question of it.
	Decide(ctx context.Context, run string, d api.Decision) error
	Answer(ctx context.Context, run string, r api.Reply) error
}

// OpenApproval is a call of a run that waits for approval.
type OpenApproval struct {
	api.Approval
	Run string
	// Caller is who made the call.
	Caller api.Caller
}

// Session names a session of a caller.
type Session struct {
	Caller api.Caller
	// Client is the program that has the session, as "claude-code 2.1.0"; empty if it is unknown.
	Client string
	// key tells the sessions of a caller apart.
	key string
}

// sessionKey is what keys of sessions match, so that they can be a part of ids.
var sessionKey = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// keyFromName returns a session's key for a name that a client gave.
func keyFromName(kind, name string) string {
	if key := kind + "-" + name; sessionKey.MatchString(key) {
		return key
	}
	sum := sha256.Sum256([]byte(name))
	return kind + "-" + hex.EncodeToString(sum[:16])
}

// newCallID returns the id of a call that starts now: the time in milliseconds, and random letters.
func newCallID(now time.Time) string {
	return strconv.FormatInt(now.UnixMilli(), 36) + "-" + rand.Text()
}

// startedAt returns when a call with that id started; now if the id does not say it.
func startedAt(id string, now time.Time) time.Time {
	text, _, cut := strings.Cut(id, "-")
	ms, err := strconv.ParseInt(text, 36, 64)
	if at := time.UnixMilli(ms); cut && err == nil && at.Before(now) {
		return at
	}
	return now
}

// RunID returns the id of the session's run. It contains the caller, so that no other caller can
// reach the session.
func (s Session) RunID() string {
	return "session/" + url.PathEscape(s.Caller.ID) + "/" + s.key
}

// CallerFromRunID returns the caller of the run of a session; the zero Caller for other runs.
func CallerFromRunID(run string) api.Caller {
	rest, ok := strings.CutPrefix(run, "session/")
	name, _, cut := strings.Cut(rest, "/")
	id, err := url.PathUnescape(name)
	if !ok || !cut || err != nil {
		return api.Caller{}
	}
	return api.Caller{Type: api.CallerSession, ID: id}
}
