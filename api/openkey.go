package api

// OpenRequest is the input of OpenActivity: a key of a keyed lane that is to be served. Admission does the same for calls
// that start at once.
type OpenRequest struct {
	// Base is the task queue of the workflows.
	Base string `json:"base"`
	Lane string `json:"lane"`
	// Key is the part of the task queue's name that stands for the key.
	Key string `json:"key"`
}
