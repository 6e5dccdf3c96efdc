package activities

import (
	"cmp"
	"errors"

	"github.com/switchyard/switchyard/activities/models"
	"github.com/switchyard/switchyard/api"
	modeltable "github.com/switchyard/switchyard/toolspecs/models"
)

// known returns what is known of a run's model, from its agent, its name, and served, the name that
// the provider returned with an answer. A scripted model has no cost unless the agent declares one.
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

// surelyTooLong is the part of a model's window above which a rejected prompt counts as too long.
// It is below 1 because our token count is that of other models and the answer needs space too.
const surelyTooLong = 0.75

// overflown marks the failure of a model step as an overflow if the server rejected the request as
// invalid without a specific code and the prompt nearly fills the window. Error texts for an
// overflow differ between servers.
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
