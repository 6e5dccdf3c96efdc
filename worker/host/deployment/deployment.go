// Package deployment makes a worker part of a Worker Deployment of Temporal: it names the version
// that the worker of workflows polls with, and how long a workflow stays on a version.
//
// Only the worker of workflows is versioned. A version holds at most 100 task queues by default,
// and lanes, keys and instances have one each. Calls on them carry the toolspec that their run
// pinned, so that workers of every version may execute them, and a limit of a lane holds over the
// workers of all versions.
package deployment

import (
	"errors"
	"fmt"
	"strings"

	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/switchyard/switchyard/api"
)

// Version names the build of a worker. The zero value is a worker without versioning.
type Version struct {
	// Deployment is the name that all builds of one application share.
	Deployment string
	// Build identifies one build of it, for example by its image tag.
	Build string
}

// The sources of a version, in the order in which they are named in errors.
const (
	nameSources  = "--deployment-name, TEMPORAL_DEPLOYMENT_NAME or Config.DeploymentName"
	buildSources = "--build-id, TEMPORAL_WORKER_BUILD_ID or Config.BuildID"
)

// Check returns why a server would refuse the version; nil for the zero value. A version with one
// of its two parts only is an error that names both.
func (v Version) Check() error {
	switch {
	case v == Version{}:
		return nil
	case v.Build == "":
		return fmt.Errorf("the deployment %q has no build ID: set both %s and %s, or neither",
			v.Deployment, nameSources, buildSources)
	case v.Deployment == "":
		return fmt.Errorf("the build ID %q has no deployment name: set both %s and %s, or neither",
			v.Build, nameSources, buildSources)
	}
	return errors.Join(v.partFault("deployment name", v.Deployment, ".:"),
		v.partFault("build ID", v.Build, ""))
}

// maxPart bounds each part of a version in bytes. The server's limit follows from its limit of
// workflow IDs, 1000 by default.
const maxPart = 250

// partFault checks one part of a version; without are characters that it cannot contain.
func (v Version) partFault(what, value, without string) error {
	switch {
	case strings.ContainsAny(value, without):
		return fmt.Errorf("the %s %q contains a dot or a colon; use letters, digits, - and _",
			what, value)
	case strings.HasPrefix(value, "__"):
		return fmt.Errorf("the %s %q begins with __, which the server reserves", what, value)
	case len(value) > maxPart:
		return fmt.Errorf("the %s has %d characters; it can have %d", what, len(value), maxPart)
	}
	return nil
}

// Options returns the options for the worker of workflows.
func (v Version) Options() worker.DeploymentOptions {
	if (v == Version{}) {
		return worker.DeploymentOptions{}
	}
	return worker.DeploymentOptions{
		UseVersioning: true,
		Version: worker.WorkerDeploymentVersion{DeploymentName: v.Deployment,
			BuildID: v.Build},
		DefaultVersioningBehavior: workflow.VersioningBehaviorPinned,
	}
}

// Behavior returns whether a workflow stays on the version on which it started. Runs stay on theirs
// until they continue as new. The other workflows move with the deployment: the workflow of a lane
// never ends, the one of a conversation's instance and those of ledgers outlive their runs, which
// can be on several versions, and the one of a schedule ends with the run that it starts. Pinned,
// they would keep an old version from draining.
func Behavior(workflowType string) workflow.VersioningBehavior {
	switch workflowType {
	case api.AgentWorkflow, api.PlanWorkflow, api.CallWorkflow, api.SessionWorkflow:
		return workflow.VersioningBehaviorPinned
	}
	return workflow.VersioningBehaviorAutoUpgrade
}
