package api

// RecallRequest asks for the messages of a conversation's earlier runs, on behalf of a run that goes on with it.
type LoadConversationRequest struct {
	Conversation string `json:"conversation"`
}

// Recalled is what a run that continues a conversation begins with.
type LoadedConversation struct {
	// Messages are encoded by EncodeMessages, without system messages; nil where there is nothing to go on with.
	Messages []byte `json:"messages,omitempty"`
	// Turn is the last turn of the earlier runs: the run numbers on from there, so that ids of calls are unique in the
	// conversation.
	Turn int `json:"turn,omitempty"`
	// WorkflowID and RunID name the run that the messages are from; empty where there is none.
	WorkflowID string `json:"workflow_id,omitempty"`
	RunID      string `json:"run_id,omitempty"`
	// Dropped is how many of the oldest messages were too long to be carried over; a message says so in their place.
	Dropped int `json:"dropped,omitempty"`
	// Labels are those that the earlier runs had seen.
	Labels []string `json:"labels,omitempty"`
	// Problems, if any, are reasons why the run cannot go on with the conversation.
	Problems []Problem `json:"problems,omitempty"`
}
