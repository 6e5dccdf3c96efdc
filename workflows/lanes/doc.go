// Package lanes has the workflows of lanes with a limit: LaneKeeper offers groups of worker slots
// to workers, and LaneKeys knows which keys of a keyed lane are open.
package lanes
