// Package history derives the events, the call records and the summary of a run from its history.
//
// deriver.go has the entry point, Deriver.Add. run.go has the shared state of a run and its start
// and continuation. activities.go, markers.go and updates.go read activities, local activities and
// updates, and pass each to the file of its subject:
//
//   - admission.go reads pinned tools and admission decisions, and makes the record of a call.
//     approvals.go reads decisions of people, questions.go questions and replies.
//   - calls.go reads tool calls, batch.go batched ones, children.go those of sub-agents. journal.go
//     reads what the run recorded of calls beyond the ends of their activities, and lookahead.go
//     has it known when such an end is read.
//   - steps.go reads model steps, hooks.go hooks, control.go messages and pauses, ending.go the end
//     of the run.
//
// summary.go has the summary. hiding.go redacts sensitive values. decode.go, kinds.go and errors.go
// have helpers.
package history
