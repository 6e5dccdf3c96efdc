package failures

// TimeoutKind names the activity timeout that expired, after Temporal's enum of timeout types. The
// empty kind is no timeout.
type TimeoutKind string

// The timeouts that matter to a call.
const (
	TimeoutScheduleToStart TimeoutKind = "ScheduleToStart"
	TimeoutHeartbeat       TimeoutKind = "Heartbeat"
)

// ActivityFailure is what Temporal reports of a tool's activity that returned no result. Workflows
// read it from the SDK's errors and the audit from history; CallError is the only place that maps
// it to an error of the closed set.
type ActivityFailure struct {
	Timeout   TimeoutKind
	Cancelled bool
	// Type and Message are those of the failure that the activity returned.
	Type    string
	Message string
	// Details decodes the first detail of the failure or of the cancellation; nil if there is none.
	Details func(any) error
	// Left decodes what the activity left to another attempt: a remote task, or the progress of an
	// instance; nil if there is nothing.
	Left func(any) error
	// LastHeartbeat decodes the details of the activity's last heartbeat; nil if there are none or
	// no timeout expired.
	LastHeartbeat func(any) error
}
