// Package lanes has the workflow of lanes with a limit: LaneKeeper offers groups of worker slots to
// workers.
package lanes
