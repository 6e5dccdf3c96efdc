package kubernetes

import (
	core "k8s.io/api/core/v1"
)

// The types of KEDA and of the Temporal Worker Controller would add some hundred modules. These
// have the fields that the manifests use, as in KEDA 2.22 and the controller's api/v1alpha1.

type metadata struct {
	Name      string            `json:"name"`
	Namespace string            `json:"namespace,omitempty"`
	Labels    map[string]string `json:"labels,omitempty"`
}

type object struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Metadata   metadata `json:"metadata"`
}

type scaledObject struct {
	object
	Spec struct {
		ScaleTargetRef struct {
			Name string `json:"name"`
		} `json:"scaleTargetRef"`
		MinReplicaCount int32 `json:"minReplicaCount"`
		MaxReplicaCount int32 `json:"maxReplicaCount"`
		PollingInterval int32 `json:"pollingInterval"`
		CooldownPeriod  int32 `json:"cooldownPeriod"`
		Triggers        []struct {
			Type     string          `json:"type"`
			Metadata temporalTrigger `json:"metadata"`
		} `json:"triggers"`
	} `json:"spec"`
}

// temporalTrigger is the metadata of KEDA's scaler temporal. All values are texts.
type temporalTrigger struct {
	Endpoint        string `json:"endpoint"`
	Namespace       string `json:"namespace"`
	TaskQueue       string `json:"taskQueue"`
	QueueTypes      string `json:"queueTypes"`
	TargetQueueSize string `json:"targetQueueSize"`
}

type connection struct {
	object
	Spec struct {
		HostPort string `json:"hostPort"`
	} `json:"spec"`
}

type workerDeployment struct {
	object
	Spec struct {
		Replicas      int32 `json:"replicas"`
		WorkerOptions struct {
			ConnectionRef struct {
				Name string `json:"name"`
			} `json:"connectionRef"`
			TemporalNamespace string `json:"temporalNamespace"`
		} `json:"workerOptions"`
		Rollout struct {
			Strategy string `json:"strategy"`
			Steps    []struct {
				RampPercentage int    `json:"rampPercentage"`
				PauseDuration  string `json:"pauseDuration"`
			} `json:"steps"`
		} `json:"rollout"`
		Sunset struct {
			ScaledownDelay string `json:"scaledownDelay"`
			DeleteDelay    string `json:"deleteDelay"`
		} `json:"sunset"`
		Template core.PodTemplateSpec `json:"template"`
	} `json:"spec"`
}
