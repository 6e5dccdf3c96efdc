package toolspecs

import (
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/toolspecs/schemas"
)

// human checks a human tool. Its call is at no worker while the person takes their time, so much of what other calls
// have is not for it.
func (c *checker) human(s Spec) {
	c.placeholders("$.entry.question", s.Entry.Question, s.argumentNames(), false)
	e := s.Execution
	if e.Effect != api.EffectRead {
		c.Add("$.execution.effect", "remove it", "asking a person changes nothing, so the effect of a human tool is read, not %s", e.Effect)
	}
	if e.Timeout != DefaultTimeout {
		c.AddKey("$.execution.timeout", "write entry.answer_within", "a person may take longer than a program: a human tool has no timeout")
	}
	if e.OnInvalidOutput != onInvalidFail {
		c.Add("$.execution.on_invalid_output", "remove it", "an answer that does not fit goes back to the person who gave it")
	}
	if len(s.Requires.Dependencies) > 0 {
		c.AddKey("$.requires.dependencies", "remove them", "a person needs no program on a worker")
	}
	schema := s.OutputSchema
	if s.Output != nil {
		schema = schemas.Encode(schemaOfParameter(*s.Output))
	}
	if len(schema) > api.MaxQuestionSchema {
		c.AddKey("$.output", "ask for less", "the schema of the answer has %d bytes; at most %d are shown to people", len(schema), api.MaxQuestionSchema)
	}
}
