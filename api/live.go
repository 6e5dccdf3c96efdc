package api

// Live is a piece of what a model says while its step is under way: text alone, never the calls that it asks for. The
// heartbeats of a model step carry the end of the text so far; history does not.
type Live struct {
	// Turn is the step's.
	Turn int `json:"turn,omitempty"`
	// Attempt counts the step's attempts from 1. Each begins the text anew.
	Attempt int `json:"attempt"`
	// From is where Text begins in the attempt's text, in bytes: a piece that begins where the one before it ended goes on
	// with it, one that begins later tells that something in between was missed.
	From int    `json:"from"`
	Text string `json:"text"`
}

// Until is where the piece ends in the attempt's text.
func (l Live) Until() int { return l.From + len(l.Text) }
