package console

import (
	"errors"

	"github.com/switchyard/switchyard"
	"github.com/switchyard/switchyard/api"
)

// Why the console itself refuses a request.
var (
	errCrossSite = errors.New("cross_site")
	errRole      = errors.New("no_role")
	errFaults    = errors.New("invalid_form")
	errUnseen    = errors.New("no_digest")
	errClosed    = errors.New("closed")
)

// audit logs what a person did, such as a decision, or why it was refused. what is a word; did says
// which decision or action. Texts that people enter are in the record of the run, and not here.
func (p *page) audit(what, did string, err error, more ...any) {
	all := []any{"by", p.who.Name, "auth", p.who.Auth, "path", p.r.URL.Path, "from",
		p.r.RemoteAddr}
	if did != "" {
		all = append(all, what, did)
	}
	all = append(all, more...)
	if err != nil {
		p.console.config.Audit.Warn(what+" refused", append(all, "reason", classifyError(err))...)
		return
	}
	p.console.config.Audit.Info(what, all...)
}

// classifyError returns the type of an error. Its text could contain what somebody entered.
func classifyError(err error) string {
	if e, ok := errors.AsType[*api.ReplyError](err); ok {
		return string(e.Type)
	}
	if e, ok := errors.AsType[*switchyard.RequestError](err); ok {
		return string(e.Type)
	}
	for _, own := range []error{errCrossSite, errRole, errFaults, errUnseen, errClosed} {
		if errors.Is(err, own) {
			return own.Error()
		}
	}
	return "unreachable"
}
