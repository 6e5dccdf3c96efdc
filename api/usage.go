package api

import "cmp"

// Usage counts what a run used.
type Usage struct {
	// Turns counts model steps, summary steps included.
	Turns int `json:"turns,omitempty"`
	// Calls counts tool calls, Failed those that failed or were refused.
	Calls  int `json:"calls,omitempty"`
	Failed int `json:"failed,omitempty"`
	// InputTokens and OutputTokens are those of model steps.
	InputTokens  int `json:"input_tokens,omitempty"`
	OutputTokens int `json:"output_tokens,omitempty"`
	// CachedTokens and WrittenTokens are input tokens read from and written to the provider's
	// cache.
	CachedTokens  int `json:"cached_tokens,omitempty"`
	WrittenTokens int `json:"written_tokens,omitempty"`
	// Cost is in US dollars; zero for models without a price.
	Cost float64 `json:"cost,omitempty"`
}

// Add adds what a sub-agent used of the budget. Its turns are not added.
func (u *Usage) Add(sub Usage) {
	u.Calls += sub.Calls
	u.Failed += sub.Failed
	u.addTokens(sub)
}

// AddStep adds what a model step used.
func (u *Usage) AddStep(step Usage) {
	u.Turns++
	u.addTokens(step)
}

func (u *Usage) addTokens(other Usage) {
	u.InputTokens += other.InputTokens
	u.OutputTokens += other.OutputTokens
	u.CachedTokens += other.CachedTokens
	u.WrittenTokens += other.WrittenTokens
	u.Cost += other.Cost
}

// Price is a model's price in US dollars per million tokens.
type Price struct {
	Input  float64 `json:"input,omitempty"`
	Output float64 `json:"output,omitempty"`
	// CachedInput is for input from the provider's cache, CacheWrite for input written to it; zero
	// is Input.
	CachedInput float64 `json:"cached_input,omitempty"`
	CacheWrite  float64 `json:"cache_write,omitempty"`
}

// Cost returns the cost of usage in US dollars.
func (p Price) Cost(u Usage) float64 {
	plain := u.InputTokens - u.CachedTokens - u.WrittenTokens
	return (float64(plain)*p.Input + float64(u.CachedTokens)*cmp.Or(p.CachedInput, p.Input) +
		float64(u.WrittenTokens)*cmp.Or(p.CacheWrite, p.Input) +
		float64(u.OutputTokens)*p.Output) / 1e6
}
