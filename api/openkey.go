package api

// OpenRequest is the input of OpenKeyActivity: a key of a keyed lane to serve. For calls that start
// immediately, admission does the same.
type OpenRequest struct {
	// Base is the task queue of the workflows.
	Base string `json:"base"`
	Lane string `json:"lane"`
	// Key is the part of the key in the task queue's name.
	Key string `json:"key"`
}
