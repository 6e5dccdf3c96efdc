package runstart

import (
	"context"

	"github.com/switchyard/switchyard/api"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
)

// UpdateOrStart sends an update to the session of the request, which it starts if it is not open.
// The update has to be answered for it to return.
//
// Errors: *SizeError, *UnreadableError, those of ctx, of the server and of the session.
func (n *Namespace) UpdateOrStart(ctx context.Context, r Request,
	update client.UpdateWorkflowOptions) (client.WorkflowUpdateHandle, error) {
	if err := r.CheckSize(api.MaxInputs); err != nil {
		return nil, err
	}
	if err := n.checkReadable(ctx, r.Queue); err != nil {
		return nil, err
	}
	known, err := n.attributes(ctx)
	if err != nil {
		return nil, err
	}
	set, _ := r.Attributes(known)
	options := r.options(set)
	options.WorkflowIDReusePolicy = enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE
	options.WorkflowIDConflictPolicy = enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING
	options.WorkflowExecutionErrorWhenAlreadyStarted = false
	return n.Client.UpdateWithStartWorkflow(ctx, client.UpdateWithStartWorkflowOptions{
		StartWorkflowOperation: n.Client.NewWithStartWorkflowOperation(options, r.Workflow,
			r.Arguments()...),
		UpdateOptions: update,
	})
}
