// Package slots serves the slots of lanes with a limit.
package slots
