package api

// LoadConversationRequest asks for the messages of a conversation's earlier runs.
type LoadConversationRequest struct {
	Conversation string `json:"conversation"`
}

// LoadedConversation is what a run in an existing conversation starts with.
type LoadedConversation struct {
	// Messages are encoded by EncodeMessages, without system messages; nil if there are none.
	Messages []byte `json:"messages,omitempty"`
	// Turn is the last turn of the earlier runs. The run counts on from there, so that call ids are
	// unique in the conversation.
	Turn int `json:"turn,omitempty"`
	// WorkflowID and RunID identify the run of the messages; empty if there is none.
	WorkflowID string `json:"workflow_id,omitempty"`
	RunID      string `json:"run_id,omitempty"`
	// Dropped is how many of the oldest messages were too long to load; a message says so in their
	// place.
	Dropped int `json:"dropped,omitempty"`
	// Labels are the labels of the earlier runs.
	Labels []string `json:"labels,omitempty"`
	// Problems, if any, say why the run cannot continue the conversation.
	Problems []Problem `json:"problems,omitempty"`
}
