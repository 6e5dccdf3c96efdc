// Package audit reads what happened in a run from its history alone: events, one record per call, what runs now, and a
// summary. Nothing is written anywhere; the history on the Temporal server is the store, so a reader that comes late or
// twice sees the same. Of the records of many runs it makes reports.
//
// Payloads are read as the SDK's default data converter writes them.
package audit
