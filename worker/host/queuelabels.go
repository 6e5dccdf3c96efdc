package host

import "github.com/switchyard/switchyard/api"

// queueLabel returns the label of a task queue in metrics: its name, and one label for the queues
// of all instances, because these are unbounded.
func queueLabel(queue string) string {
	if api.IsInstanceQueue(queue) {
		return "instance"
	}
	return queue
}
