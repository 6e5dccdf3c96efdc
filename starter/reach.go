package main

import (
	"cmp"
	"strings"

	"github.com/switchyard/switchyard"
	"github.com/switchyard/switchyard/audit"
	"go.temporal.io/sdk/client"
)

// reach is what a command that is shown to people needs beside its arguments to reach the server that this one reaches.
type reach struct {
	// program is how starter was called.
	program string
	// flags are those that were given for that, with a space before each. What environment and profiles say, they say to it too.
	flags string
}

// called is how starter was called.
func (c *connectionFlags) called() string { return cmp.Or(c.program, programName) }

// reach leaves out secrets, which are not to be printed.
func (c *connectionFlags) reach() reach {
	namespace := c.namespace
	if namespace == client.DefaultNamespace {
		namespace = ""
	}
	var text strings.Builder
	for _, flag := range []struct{ name, value string }{
		{"--address", c.address}, {"--namespace", namespace}, {"--profile", c.profile}, {"--config-file", c.configFile},
	} {
		if flag.value != "" {
			text.WriteString(" " + flag.name + " " + switchyard.ShellWord(flag.value))
		}
	}
	return reach{program: c.called(), flags: text.String() + c.stored()}
}

// stored are the flags that say how payloads are stored, as far as they were given, with a space before each.
func (c *connectionFlags) stored() string {
	text := ""
	for _, argument := range c.payloads.Arguments() {
		text += " " + switchyard.ShellWord(argument)
	}
	return text
}

// command is a command line of starter that can be pasted.
func (r reach) command(name string, arguments ...string) string {
	words := []string{cmp.Or(r.program, programName), name}
	for _, argument := range arguments {
		words = append(words, switchyard.ShellWord(argument))
	}
	return strings.Join(words, " ") + r.flags
}

// howToAnswer is the command line that answers a question, up to the answer itself.
func (r reach) howToAnswer(q audit.RunQuestion) string {
	answer := " --value JSON"
	if wantsText(q.Schema) {
		answer = " --text TEXT"
	}
	return r.command("answer", q.WorkflowID, q.ID) + answer
}
