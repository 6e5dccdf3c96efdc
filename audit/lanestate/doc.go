// Package lanestate reads from the server who serves a lane and how many calls wait.
package lanestate
