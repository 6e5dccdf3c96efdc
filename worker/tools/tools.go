// Package tools holds the tools that ship with Switchyard: echo, calculator, datetime, string,
// http_get and http_request. They are registered like an application's own tools. Their toolspecs
// are in toolspecs/shipped.
package tools

import (
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/tool"
)

// Config configures the tools. The zero value is usable.
type Config struct {
	// HTTP configures http_get and http_request.
	HTTP HTTPConfig
	// Now is the clock; default time.Now.
	Now func() time.Time
}

// All returns the functions of every tool that comes with Switchyard.
func All(c Config) []tool.Function {
	return append([]tool.Function{echo(), calculator(), datetimeTool(c.Now), stringTool()},
		HTTP(c.HTTP)...)
}

// invalid returns the error for an argument that only the tool itself can check.
func invalid(parameter, format string, args ...any) *api.Error {
	e := api.Errorf(api.ErrValidation, format, args...)
	e.Problems = []api.Problem{{Path: "$." + parameter, Rule: "value", Message: e.Message}}
	e.Message = "the tool cannot use its arguments"
	return e
}
