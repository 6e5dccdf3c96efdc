package kubernetes

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	core "k8s.io/api/core/v1"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// withGateway returns what kustomize builds of the base with the gateway.
func withGateway(t *testing.T) (m manifests) {
	t.Helper()
	files := filesys.MakeFsOnDisk()
	dir := t.TempDir()
	relative := func(folder string) string {
		here, err := filepath.Abs(root + folder)
		if err != nil {
			t.Fatal(err)
		}
		path, err := filepath.Rel(dir, here)
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	text := "resources: [" + relative("base") + "]\ncomponents: [" + relative("gateway") + "]\n" +
		"generatorOptions: {disableNameSuffixHash: true}\n"
	if err := os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(text),
		0o600); err != nil {
		t.Fatal(err)
	}
	objects, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(files, dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, object := range objects.Resources() {
		text, err := object.AsYAML()
		if err != nil {
			t.Fatal(err)
		}
		m.add(t, text)
	}
	return m
}

// gatewayPod returns the pod of the gateway and its container.
func gatewayPod(t *testing.T, m manifests) (core.PodTemplateSpec, core.Container) {
	t.Helper()
	for _, d := range m.deployments {
		if d.Name == "switchyard-gateway" {
			return d.Spec.Template, d.Spec.Template.Spec.Containers[0]
		}
	}
	t.Fatal("there is no Deployment of the gateway")
	return core.PodTemplateSpec{}, core.Container{}
}

func TestGateway_AcceptsItsFlags(t *testing.T) {
	_, c := gatewayPod(t, withGateway(t))
	accepts(t, "starter", c.Args)
}

func TestGateway_IsProbedAndReachedAtItsPort(t *testing.T) {
	m := withGateway(t)
	pod, c := gatewayPod(t, m)
	if got := flagOf(c.Args, "listen"); got != ":8090" || c.Ports[0].ContainerPort != 8090 {
		t.Errorf("it listens on %s and has the ports %+v", got, c.Ports)
	}
	if c.LivenessProbe.HTTPGet.Path != "/healthz" || c.ReadinessProbe.HTTPGet.Path != "/readyz" ||
		c.LivenessProbe.HTTPGet.Port.StrVal != "http" ||
		c.ReadinessProbe.HTTPGet.Port.StrVal != "http" {
		t.Errorf("the probes are %+v and %+v", c.LivenessProbe, c.ReadinessProbe)
	}
	if len(m.services) != 1 || m.services[0].Spec.Ports[0].TargetPort.StrVal != "http" {
		t.Fatalf("the services are %+v", m.services)
	}
	for key, value := range m.services[0].Spec.Selector {
		if pod.Labels[key] != value {
			t.Errorf("the service selects %s=%s, the pod has %q", key, value, pod.Labels[key])
		}
	}
}

func TestGateway_HasTheToolsOfTheWorkersAndItsSettings(t *testing.T) {
	m := withGateway(t)
	pod, c := gatewayPod(t, m)
	sources := map[string]string{}
	for _, v := range pod.Spec.Volumes {
		switch {
		case v.ConfigMap != nil:
			sources[v.Name] = v.ConfigMap.Name
		case v.Secret != nil:
			sources[v.Name] = v.Secret.SecretName
		}
	}
	mounted := map[string]string{}
	for _, mount := range c.VolumeMounts {
		mounted[mount.MountPath] = sources[mount.Name]
	}
	if mounted[flagOf(c.Args, "tools")] != "switchyard-tools" ||
		mounted[filepath.Dir(flagOf(c.Args, "config"))] != "switchyard-gateway" ||
		mounted["/etc/switchyard/keys"] != "switchyard-gateway" {
		t.Errorf("the volumes are %v", mounted)
	}
	if !slices.ContainsFunc(m.configMaps, func(c core.ConfigMap) bool {
		return c.Name == "switchyard-gateway" && c.Data["gateway.yaml"] != ""
	}) {
		t.Error("no ConfigMap has gateway.yaml")
	}
}

func TestGateway_RunsWithoutRightsAndOnAReadOnlyRoot(t *testing.T) {
	pod, c := gatewayPod(t, withGateway(t))
	if !*pod.Spec.SecurityContext.RunAsNonRoot || !*c.SecurityContext.ReadOnlyRootFilesystem ||
		*c.SecurityContext.AllowPrivilegeEscalation || *pod.Spec.AutomountServiceAccountToken {
		t.Errorf("%+v and %+v", pod.Spec.SecurityContext, c.SecurityContext)
	}
}
