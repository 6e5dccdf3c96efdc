package activities

import (
	"cmp"
	"errors"

	"github.com/switchyard/switchyard/activities/models"
	"github.com/switchyard/switchyard/api"
	modeltable "github.com/switchyard/switchyard/toolspecs/models"
)

// known returns what is known of a run's model: by what its agent says, by its name, and by the
// name that the provider gave with an answer, served. A script that stands in costs nothing unless
// the agent says so.
func (a *Activities) known(setup *api.Setup, served string) modeltable.Model {
	m := setup.Agent.Model
	known := modeltable.Model{Price: m.Price, Window: m.Window}
	if setup.Pinned.Value.Provider == api.ProviderScripted {
		return known
	}
	listed, ok := a.config.ModelTable.Find(m.Name)
	if !ok {
		listed, _ = a.config.ModelTable.Find(served)
	}
	known.Images = listed.Images
	known.Price, known.Window = cmp.Or(known.Price, listed.Price),
		cmp.Or(known.Window, listed.Window)
	return known
}

// surelyTooLong is which part of a model's window a prompt that its server refused has to fill to
// be held for too long: our count is that of other models' tokens, and the answer takes its part.
const surelyTooLong = 0.75

// overflown marks the failure of a model step as an overflow where its server took the request for
// a wrong one without a code that says why, and the prompt is about as long as the window: their
// words for it differ from server to server.
func (a *Activities) overflown(err error, setup *api.Setup, p models.Prompt) error {
	e, ok := errors.AsType[*models.Error](err)
	if !ok || !e.Unread || e.Overflow {
		return err
	}
	window := a.known(setup, "").Window
	if n := models.CountUsage(p, api.Message{}).InputTokens; window > 0 &&
		float64(n) > surelyTooLong*float64(window) {
		marked := *e
		marked.Overflow = true
		return &marked
	}
	return err
}
