package audit_test

import historypb "go.temporal.io/api/history/v1"

// Short names of event attributes, which otherwise exceed a line.
type (
	startedAttributes         = historypb.WorkflowExecutionStartedEventAttributes
	failedAttributes          = historypb.WorkflowExecutionFailedEventAttributes
	terminatedAttributes      = historypb.WorkflowExecutionTerminatedEventAttributes
	signaledAttributes        = historypb.WorkflowExecutionSignaledEventAttributes
	cancelRequestedAttributes = historypb.WorkflowExecutionCancelRequestedEventAttributes
	updateAdmittedAttributes  = historypb.WorkflowExecutionUpdateAdmittedEventAttributes
	updateAcceptedAttributes  = historypb.WorkflowExecutionUpdateAcceptedEventAttributes
	updateCompletedAttributes = historypb.WorkflowExecutionUpdateCompletedEventAttributes
)

type cancelRequestedEvent = historypb.HistoryEvent_WorkflowExecutionCancelRequestedEventAttributes
