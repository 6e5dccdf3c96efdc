// Package kubernetes checks the manifests of deploy/kubernetes and the unit of deploy/systemd: it
// builds them with kustomize, decodes them strictly, and compares names, ports and flags.
package kubernetes

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	apps "k8s.io/api/apps/v1"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

const root = "../../deploy/kubernetes/"

// manifests are the decoded objects of one installation.
type manifests struct {
	accounts    []core.ServiceAccount
	configMaps  []core.ConfigMap
	deployments []apps.Deployment
	services    []core.Service
	jobs        []batch.Job
	budgets     []policy.PodDisruptionBudget
	policies    []networking.NetworkPolicy
	scaled      []scaledObject
	connections []connection
	versioned   []workerDeployment
}

// add decodes an object strictly: unknown, misspelled and repeated fields are errors.
func (m *manifests) add(t *testing.T, text []byte) {
	t.Helper()
	var kind struct{ APIVersion, Kind string }
	if err := yaml.Unmarshal(text, &kind); err != nil {
		t.Fatal(err)
	}
	switch kind.APIVersion + " " + kind.Kind {
	case "v1 ServiceAccount":
		m.accounts = append(m.accounts, decode[core.ServiceAccount](t, text))
	case "v1 ConfigMap":
		m.configMaps = append(m.configMaps, decode[core.ConfigMap](t, text))
	case "v1 Service":
		m.services = append(m.services, decode[core.Service](t, text))
	case "apps/v1 Deployment":
		m.deployments = append(m.deployments, decode[apps.Deployment](t, text))
	case "batch/v1 Job":
		m.jobs = append(m.jobs, decode[batch.Job](t, text))
	case "policy/v1 PodDisruptionBudget":
		m.budgets = append(m.budgets, decode[policy.PodDisruptionBudget](t, text))
	case "networking.k8s.io/v1 NetworkPolicy":
		m.policies = append(m.policies, decode[networking.NetworkPolicy](t, text))
	case "keda.sh/v1alpha1 ScaledObject":
		m.scaled = append(m.scaled, decode[scaledObject](t, text))
	case "temporal.io/v1alpha1 Connection":
		m.connections = append(m.connections, decode[connection](t, text))
	case "temporal.io/v1alpha1 WorkerDeployment":
		m.versioned = append(m.versioned, decode[workerDeployment](t, text))
	default:
		t.Errorf("the test does not know the kind %q of %q", kind.Kind, kind.APIVersion)
	}
}

func decode[T any](t *testing.T, text []byte) (object T) {
	t.Helper()
	if err := yaml.UnmarshalStrict(text, &object); err != nil {
		t.Errorf("%v in\n%s", err, text)
	}
	return object
}

// built returns what kustomize builds of a folder.
func built(t *testing.T, folder string) manifests {
	t.Helper()
	objects, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(
		filesys.MakeFsOnDisk(), root+folder)
	if err != nil {
		t.Fatal(err)
	}
	var m manifests
	for _, object := range objects.Resources() {
		text, err := object.AsYAML()
		if err != nil {
			t.Fatal(err)
		}
		m.add(t, text)
	}
	return m
}

// controlled returns the objects of the example for the worker controller.
func controlled(t *testing.T) manifests {
	t.Helper()
	text, err := os.ReadFile(root + "worker-controller/worker-deployment.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var m manifests
	for _, document := range bytes.Split(text, []byte("\n---\n")) {
		m.add(t, document)
	}
	return m
}

func TestManifests_DecodeStrictly(t *testing.T) {
	for _, folder := range []string{"base", "example"} {
		m := built(t, folder)
		if len(m.accounts) != 1 || len(m.configMaps) != 3 || len(m.deployments) != 2 ||
			len(m.jobs) != 1 || len(m.budgets) != 2 || len(m.policies) != 1 {
			t.Errorf("%s has other objects: %+v", folder, m)
		}
	}
	if m := built(t, "example"); len(m.scaled) != 1 {
		t.Errorf("the example has %d objects of KEDA", len(m.scaled))
	}
	if m := controlled(t); len(m.connections) != 1 || len(m.versioned) != 1 ||
		m.versioned[0].Spec.WorkerOptions.ConnectionRef.Name != m.connections[0].Metadata.Name {
		t.Errorf("the example of the worker controller has other objects: %+v", m)
	}
}

// Without this, a misspelled field would pass.
func TestDecode_RejectsUnknownFields(t *testing.T) {
	var d apps.Deployment
	const want = `error unmarshaling JSON: while decoding JSON: json: unknown field "replica"`
	err := yaml.UnmarshalStrict([]byte("spec: {replica: 1}"), &d)
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestBase_NamesNoNamespace(t *testing.T) {
	m := built(t, "base")
	for _, d := range m.deployments {
		if d.Namespace != "" {
			t.Errorf("%s is in the namespace %q", d.Name, d.Namespace)
		}
	}
	for _, d := range built(t, "example").deployments {
		if d.Namespace != "agents" {
			t.Errorf("%s is in the namespace %q", d.Name, d.Namespace)
		}
	}
}

// Each file of the folder is one that the tests read, or is part of an installation.
func TestFiles_AreChecked(t *testing.T) {
	known := map[string]bool{"base": true, "autoscaling": true, "mtls": true, "example": true,
		"worker-controller": true, "gateway": true}
	entries, err := os.ReadDir(filepath.Clean(root))
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if !known[entry.Name()] {
			t.Errorf("no test reads %s%s", root, entry.Name())
		}
	}
}
