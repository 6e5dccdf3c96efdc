package openai

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"net/http"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/ssestream"
	"github.com/switchyard/switchyard/activities/models"
)

// codeOverflow is the code of a refusal that says that the conversation is longer than the model's
// window.
const codeOverflow = "context_length_exceeded"

// complete makes the request: as a stream where somebody may listen and the server streams, else at
// once.
func (o *Provider) complete(ctx context.Context, p models.Prompt) (*openai.ChatCompletion, error) {
	params := openAIParams(p)
	if _, plain := o.unstreamed.Load(params.Model); p.Live == nil || plain {
		return o.whole(ctx, params)
	}
	completion, err := o.stream(ctx, params, p.Live)
	if !refusedAsWrong(err) {
		return completion, err
	}
	// Perhaps it is the stream that this server does not know: they say so in their own words each.
	if completion, err = o.whole(ctx, params); err == nil {
		o.unstreamed.Store(params.Model, true)
	}
	return completion, err
}

// whole makes a request whose answer comes at once.
func (o *Provider) whole(ctx context.Context,
	params openai.ChatCompletionNewParams) (*openai.ChatCompletion, error) {
	completion, err := o.client.Chat.Completions.New(ctx, params)
	if err == nil {
		err = checkAnswer(completion)
	}
	return completion, err
}

// refusedAsWrong reports whether a server took the request for a wrong one without saying what is
// wrong with it.
func refusedAsWrong(err error) bool {
	apiErr, ok := errors.AsType[*openai.Error](err)
	if !ok || apiErr.Code == codeOverflow {
		return false
	}
	switch apiErr.StatusCode {
	case http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusNotImplemented:
		return true
	}
	return false
}

// stream makes a request whose answer comes in pieces; say takes those of its text. A server may
// also answer at once.
func (o *Provider) stream(ctx context.Context, params openai.ChatCompletionNewParams,
	say func(string)) (*openai.ChatCompletion, error) {
	params.StreamOptions.IncludeUsage = openai.Bool(true)
	var response *http.Response
	opened := o.client.Chat.Completions.NewStreaming(ctx, params,
		option.WithResponseInto(&response))
	defer func() { _ = opened.Close() }() // what was read is whole without it
	if err := opened.Err(); err != nil {
		return nil, err
	}
	if models.NotStreamed(response) {
		completion, err := models.DecodeAnswer[openai.ChatCompletion](response.Body)
		if err == nil {
			err = checkAnswer(completion)
		}
		return completion, err
	}
	return readStream(response, say)
}

// readStream reads an answer to its end.
func readStream(response *http.Response, say func(string)) (*openai.ChatCompletion, error) {
	decoder := &endingDecoder{Decoder: ssestream.NewDecoder(response)}
	stream := ssestream.NewStream[openai.ChatCompletionChunk](decoder, nil)
	var answer streamed
	for stream.Next() {
		chunk := stream.Current()
		if !answer.add(&chunk) {
			return nil, &models.Error{Message: "the model's server sent a piece of an answer that does not fit those before it"}
		}
		for _, c := range chunk.Choices {
			say(c.Delta.Content + c.Delta.Refusal)
		}
	}
	if err := stream.Err(); err != nil {
		return nil, streamFailure(err)
	}
	if !decoder.ended && !answer.isFinished() {
		return nil, &models.Error{Message: models.ErrCutStream.Error()}
	}
	answer.whole.Usage = answer.usage
	return &answer.whole.ChatCompletion, nil
}

// streamFailure converts an error inside a stream to the error that it would have been as a
// response.
func streamFailure(err error) error {
	if event, ok := errors.AsType[*ssestream.StreamError](err); ok {
		return cmp.Or(bodyError(event.Event.Data), err)
	}
	return err
}

// endingDecoder detects the end mark of a stream, which distinguishes a complete answer from a
// truncated one.
type endingDecoder struct {
	ssestream.Decoder
	ended bool
}

func (d *endingDecoder) Next() bool {
	if !d.Decoder.Next() {
		return false
	}
	d.ended = d.ended || bytes.HasPrefix(d.Event().Data, []byte("[DONE]"))
	return true
}

// streamed puts an answer together. Servers that speak the same protocol differ in what the
// official accumulator is strict about, so the pieces are evened out before.
type streamed struct {
	whole openai.ChatCompletionAccumulator
	// usage is what the server said last: some tell it once, others with every piece so far.
	usage openai.CompletionUsage
	// calls are the ids of the calls so far, place where those are that the server numbers so.
	calls []string
	place map[int64]int
}

// add takes the next piece and leaves in it what concerns the first choice, the only one that was
// asked for.
func (s *streamed) add(chunk *openai.ChatCompletionChunk) bool {
	if chunk.Usage.TotalTokens > 0 || chunk.Usage.PromptTokens > 0 ||
		chunk.Usage.CompletionTokens > 0 {
		s.usage = chunk.Usage
	}
	chunk.ID, chunk.Usage = "", openai.CompletionUsage{}
	first := chunk.Choices[:0]
	for _, c := range chunk.Choices {
		if c.Index == 0 {
			s.number(c.Delta.ToolCalls)
			first = append(first, c)
		}
	}
	chunk.Choices = first
	return s.whole.AddChunk(*chunk)
}

// number numbers calls in the order in which they come: some servers give all of them one number
// and tell them apart by their ids, some begin with another than zero.
func (s *streamed) number(calls []openai.ChatCompletionChunkChoiceDeltaToolCall) {
	if s.place == nil {
		s.place = map[int64]int{}
	}
	for i := range calls {
		c := &calls[i]
		at, known := s.place[c.Index]
		switch {
		case !known, c.ID != "" && s.calls[at] != "" && c.ID != s.calls[at]:
			at = len(s.calls)
			s.calls = append(s.calls, c.ID)
			s.place[c.Index] = at
		case c.ID != "":
			s.calls[at] = c.ID
		}
		c.Index = int64(at)
	}
}

// isFinished reports whether the server said why the answer ended.
func (s *streamed) isFinished() bool {
	return len(s.whole.Choices) > 0 && s.whole.Choices[0].FinishReason != ""
}
