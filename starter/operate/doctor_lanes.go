package operate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit/history"
	"github.com/switchyard/switchyard/audit/lanestate"
	"github.com/switchyard/switchyard/internal/value/display"
	"github.com/switchyard/switchyard/starter/cli"
)

// onePartition is the hint with the settings that preserve the order of lanes.
var onePartition = dynamicConfig("for these task queues or for all",
	"matching.numTaskqueueReadPartitions: 1", "matching.numTaskqueueWritePartitions: 1")

// laneStates reports the workers of the lanes and whether their task queues preserve order.
func (d *doctor) laneStates(ctx context.Context) ([]finding, error) {
	var read []api.Lane
	for _, name := range d.lanes {
		lane, _ := d.set.Lane(name)
		if name != api.LaneInline { // it has no task queue
			read = append(read, lane)
		}
	}
	states, err := lanestate.NewReader(d.client, d.namespace, d.queue).Read(ctx, read...)
	if errors.Is(err, history.ErrUnreadable) {
		return []finding{{markBad, "the holders of the lanes' slots cannot be read: " + cli.UnreadReason(err),
			"pass the --payload-keys and --payload-store of the workers"}}, nil
	}
	if err != nil {
		return nil, err
	}
	var findings []finding
	var divided []string
	for _, s := range states {
		findings = append(findings, d.lane(s))
		if s.Partitions > 1 {
			divided = append(divided, fmt.Sprintf("%s (%d)", s.Lane.Name, s.Partitions))
		}
	}
	if len(divided) > 0 {
		findings = append(findings,
			finding{markWarn, "task queues of lanes have several partitions: " +
				strings.Join(divided, ", ") +
				"; order, priorities, fairness and rates are exact only within a partition",
				onePartition})
	}
	return findings, nil
}

// lane reports the workers of a lane, and for a limited lane the hosts of its slots.
func (d *doctor) lane(s lanestate.State) finding {
	what, command := "the lane "+s.Lane.Name, d.catalog.WorkerCommand(d.app.Connection.Invocation(),
		d.queue, s.Lane.Name)
	hosted, groups := s.ServedGroups(), len(s.Holders)
	if !s.Lane.HasLimit() || hosted == 0 && len(s.Workers) == 0 {
		return reportServed(len(s.Workers), what, command)
	}
	by := " by " + strings.Join(listHolders(s), ", ")
	switch slots := describeSlots(s.Lane); {
	case hosted == 0:
		return finding{markBad,
			fmt.Sprintf("%s: no worker holds %s, so its calls wait, although %s could", what, slots,
				display.Plural(len(s.Workers), "worker")),
			"check again in a few seconds; if it persists, check the workers' logs"}
	case hosted < groups:
		return finding{markWarn, fmt.Sprintf("%s: only %d of %d groups of %s are held,%s", what,
			hosted, groups, slots, by),
			"check again in a few seconds, because another worker takes over from a lost one; or start one more: " +
				command}
	case slots == oneSlot:
		return finding{markGood, what + ": " + slots + " is held" + by, ""}
	default:
		return finding{markGood, fmt.Sprintf("%s: %s are held%s (limit %d)", what, slots, by,
			s.Lane.Limit), ""}
	}
}

const oneSlot = "its slot"

// describeSlots describes what is hosted for a lane.
func describeSlots(lane api.Lane) string {
	switch {
	case lane.HasKey():
		return "its keys"
	case lane.Limit == 1:
		return oneSlot
	}
	return "its slots"
}

// listHolders returns the workers that host groups of a lane, sorted and without duplicates.
func listHolders(s lanestate.State) []string {
	var workers []string
	for _, h := range s.Holders {
		if h.Served {
			workers = append(workers, h.Worker)
		}
	}
	slices.Sort(workers)
	return slices.Compact(workers)
}
