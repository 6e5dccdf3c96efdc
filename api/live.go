package api

// Live is a piece of a model's text while its step runs, without tool calls. Heartbeats of the
// model step carry it; history does not.
type Live struct {
	// Turn is the turn of the step.
	Turn int `json:"turn,omitempty"`
	// Attempt counts the attempts of the step from 1. Each attempt starts the text from the
	// beginning.
	Attempt int `json:"attempt"`
	// From is the offset of Text in the text of the attempt, in bytes. A piece that starts after
	// the end of the previous one shows that text in between was missed.
	From int    `json:"from"`
	Text string `json:"text"`
}

// Until is the offset of the end of the piece.
func (l Live) Until() int { return l.From + len(l.Text) }
