// Package audit reads runs from a Temporal server: their events, one record per call, what is
// pending, open questions and approvals, and how people evaluated them. It reads histories and
// writes nothing, so every reader sees the same, however late or often it reads.
//
// Package history derives the events, export writes records to files, stats adds them up, lanestate
// reads lanes, traces sends spans and html writes pages.
//
// Payloads are read with the SDK's default data converter.
package audit
