package kubernetes

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	core "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// margin is the least time between the stop timeout and the end of the grace period: calls that are
// cut off have 3 s to report, and a worker that cannot reach Temporal waits 10 s for its requests.
const margin = 30 * time.Second

// workers are the pods of workers with the name of their object.
func workers(t *testing.T) map[string]core.PodTemplateSpec {
	t.Helper()
	all := map[string]core.PodTemplateSpec{}
	for _, folder := range []string{"base", "example"} {
		for _, d := range built(t, folder).deployments {
			all[folder+"/"+d.Name] = d.Spec.Template
		}
	}
	for _, d := range controlled(t).versioned {
		all["worker-controller/"+d.Metadata.Name] = d.Spec.Template
	}
	return all
}

// flagOf returns the value of a flag of arguments.
func flagOf(args []string, name string) string {
	for _, arg := range args {
		if value, ok := strings.CutPrefix(arg, "--"+name+"="); ok {
			return value
		}
	}
	return ""
}

// program returns the path of a program, or skips the test.
func program(t *testing.T, name string) string {
	t.Helper()
	dir := os.Getenv("SWITCHYARD_BIN")
	if dir == "" {
		t.Skip("SWITCHYARD_BIN is not set: make test/kubernetes builds the programs")
	}
	path, err := filepath.Abs(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// accepts reports a command line that a program does not accept. Flags are read before --help.
func accepts(t *testing.T, name string, args []string) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), program(t, name),
		append(slices.Clone(args), "--help")...).CombinedOutput()
	if err != nil {
		t.Errorf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
}

func TestPrograms_AcceptTheFlagsOfTheManifests(t *testing.T) {
	for _, pod := range workers(t) {
		accepts(t, "worker", pod.Spec.Containers[0].Args)
	}
	for _, job := range built(t, "example").jobs {
		accepts(t, "starter", job.Spec.Template.Spec.Containers[0].Args)
	}
	accepts(t, "worker", unit(t, "worker")["ExecStart"][1:])
	accepts(t, "starter", unit(t, "gateway")["ExecStart"][1:])
}

// The gateway has time to end open requests, and may write the file of ended sessions that its unit
// recommends.
func TestGatewayUnit_FitsTheProgram(t *testing.T) {
	service := unit(t, "gateway")
	drain, err := time.ParseDuration(flagOf(service["ExecStart"], "drain"))
	if err != nil {
		t.Fatal(err)
	}
	if grace, err := time.ParseDuration(service["TimeoutStopSec"][0]); err != nil || grace <= drain {
		t.Errorf("it is killed after %v, and open requests may take %v, %v", grace, drain, err)
	}
	if state := service["StateDirectory"]; len(state) != 1 || state[0] != "switchyard-gateway" {
		t.Errorf("it may write %v", state)
	}
}

func TestProbesAndScraping_UseThePortOfTheMetrics(t *testing.T) {
	for name, pod := range workers(t) {
		c := pod.Spec.Containers[0]
		address := flagOf(c.Args, "metrics-address")
		port, err := strconv.Atoi(strings.TrimPrefix(address, ":"))
		if err != nil || len(c.Ports) != 1 || c.Ports[0].Name != "metrics" ||
			int(c.Ports[0].ContainerPort) != port {
			t.Errorf("%s serves %s and has the ports %+v", name, address, c.Ports)
		}
		live, ready := c.LivenessProbe.HTTPGet, c.ReadinessProbe.HTTPGet
		if live.Path != "/healthz" || ready.Path != "/readyz" || live.Port.StrVal != "metrics" ||
			ready.Port.StrVal != "metrics" {
			t.Errorf("%s has the probes %+v and %+v", name, live, ready)
		}
		if scraped := pod.Annotations["prometheus.io/port"]; scraped != "" &&
			scraped != strconv.Itoa(port) {
			t.Errorf("%s is scraped at %s", name, scraped)
		}
	}
}

func TestGracePeriods_ExceedTheStopTimeout(t *testing.T) {
	check := func(name string, args []string, grace time.Duration) {
		stop, err := time.ParseDuration(flagOf(args, "stop-timeout"))
		if err != nil || grace < stop+margin {
			t.Errorf("%s has %s to stop and --stop-timeout %s (%v)", name, grace, stop, err)
		}
	}
	for name, pod := range workers(t) {
		check(name, pod.Spec.Containers[0].Args,
			time.Duration(*pod.Spec.TerminationGracePeriodSeconds)*time.Second)
	}
	service := unit(t, "worker")
	grace, err := time.ParseDuration(service["TimeoutStopSec"][0])
	if err != nil {
		t.Fatal(err)
	}
	check("the service", service["ExecStart"], grace)
}

// A worker writes to mounted volumes only, and every mounted volume and file exists.
func TestVolumes_ExistAndHaveTheFiles(t *testing.T) {
	for _, folder := range []string{"base", "example"} {
		m := built(t, folder)
		files := map[string][]string{}
		for _, c := range m.configMaps {
			files[c.Name] = slices.Sorted(maps.Keys(c.Data))
		}
		for _, d := range m.deployments {
			pod := d.Spec.Template.Spec
			c := pod.Containers[0]
			volumes := map[string]core.Volume{}
			for _, v := range pod.Volumes {
				volumes[v.Name] = v
			}
			for _, mount := range c.VolumeMounts {
				v, ok := volumes[mount.Name]
				if !ok || v.ConfigMap != nil && files[v.ConfigMap.Name] == nil {
					t.Errorf("%s %s mounts %s, which does not exist", folder, d.Name, mount.Name)
				}
			}
			for _, name := range []string{"lanes-file", "policies-file"} {
				dir, base := filepath.Split(flagOf(c.Args, name))
				i := slices.IndexFunc(c.VolumeMounts, func(v core.VolumeMount) bool {
					return v.MountPath+"/" == dir
				})
				if i < 0 || !slices.Contains(files[volumes[c.VolumeMounts[i].Name].ConfigMap.Name],
					base) {
					t.Errorf("%s %s: no volume has the file of --%s", folder, d.Name, name)
				}
			}
			for _, from := range c.EnvFrom {
				if from.ConfigMapRef != nil && files[from.ConfigMapRef.Name] == nil {
					t.Errorf("%s %s: there is no ConfigMap %s", folder, d.Name,
						from.ConfigMapRef.Name)
				}
			}
		}
	}
}

func TestSelectors_MatchThePods(t *testing.T) {
	m := built(t, "example")
	matches := func(selector map[string]string) (names []string) {
		for _, d := range m.deployments {
			fits := true
			for key, value := range selector {
				fits = fits && d.Spec.Template.Labels[key] == value
			}
			if fits {
				names = append(names, d.Name)
			}
		}
		return names
	}
	for _, d := range m.deployments {
		if got := matches(d.Spec.Selector.MatchLabels); !slices.Equal(got, []string{d.Name}) {
			t.Errorf("the selector of %s matches %q", d.Name, got)
		}
	}
	for _, b := range m.budgets {
		if got := matches(b.Spec.Selector.MatchLabels); !slices.Equal(got, []string{b.Name}) {
			t.Errorf("the selector of the budget %s matches %q", b.Name, got)
		}
	}
	for _, p := range m.policies {
		if got := matches(p.Spec.PodSelector.MatchLabels); len(got) != len(m.deployments) {
			t.Errorf("the network policy covers %q", got)
		}
	}
}

func TestPods_RunWithoutRightsAndOnAReadOnlyRoot(t *testing.T) {
	for name, pod := range workers(t) {
		c := pod.Spec.Containers[0].SecurityContext
		if !*pod.Spec.SecurityContext.RunAsNonRoot || !*c.ReadOnlyRootFilesystem ||
			*c.AllowPrivilegeEscalation || !slices.Contains(c.Capabilities.Drop, "ALL") {
			t.Errorf("%s has %+v and %+v", name, pod.Spec.SecurityContext, c)
		}
	}
}

// The lanes of a Deployment are those that its file and Switchyard have. All lanes are served.
func TestScaledObjects_ScaleLanesWithoutALimit(t *testing.T) {
	m := built(t, "example")
	var file struct {
		Lanes map[string]struct{ Limit int }
	}
	for _, c := range m.configMaps {
		if text := c.Data["lanes.yaml"]; text != "" {
			if err := yaml.Unmarshal([]byte(text), &file); err != nil {
				t.Fatal(err)
			}
		}
	}
	served := map[string][]string{}
	var all []string
	for _, d := range m.deployments {
		lanes := strings.Split(flagOf(d.Spec.Template.Spec.Containers[0].Args, "lanes"), ",")
		served[d.Name], all = lanes, append(all, lanes...)
	}
	slices.Sort(all)
	if want := []string{"api", "general", "inline", "serial"}; !slices.Equal(all, want) {
		t.Errorf("the lanes %q are served, want %q", all, want)
	}
	for _, s := range m.scaled {
		trigger := s.Spec.Triggers[0].Metadata
		lane := strings.TrimPrefix(strings.TrimPrefix(trigger.TaskQueue, "switchyard"), "/")
		if lane == "" {
			lane = "general"
		}
		if file.Lanes[lane].Limit != 0 || !slices.Contains(served[s.Spec.ScaleTargetRef.Name],
			lane) || s.Spec.Triggers[0].Type != "temporal" {
			t.Errorf("%s scales %s by the lane %q", s.Metadata.Name, s.Spec.ScaleTargetRef.Name,
				lane)
		}
		for _, c := range m.configMaps {
			if address := c.Data["TEMPORAL_ADDRESS"]; address != "" &&
				(address != trigger.Endpoint || c.Data["TEMPORAL_NAMESPACE"] != trigger.Namespace) {
				t.Errorf("workers use %s and the scaler %s", address, trigger.Endpoint)
			}
		}
	}
}

func TestConfiguration_PassesLint(t *testing.T) {
	for _, args := range [][]string{
		{"tools", "lint", "--tools", root + "base/tools", "--lanes-file",
			root + "base/config/lanes.yaml"},
		{"tools", "lint", root + "base/config/policies.yaml"},
	} {
		if out, err := exec.CommandContext(t.Context(), program(t, "starter"),
			args...).CombinedOutput(); err != nil {
			t.Errorf("starter %q: %v\n%s", args, err, out)
		}
	}
}

// unit returns the words of the settings of a service by name.
func unit(t *testing.T, program string) map[string][]string {
	t.Helper()
	text, err := os.ReadFile("../../deploy/systemd/switchyard-" + program + ".service")
	if err != nil {
		t.Fatal(err)
	}
	settings := map[string][]string{}
	for line := range strings.SplitSeq(string(text), "\n") {
		if name, value, ok := strings.Cut(line, "="); ok && !strings.HasPrefix(line, "#") {
			settings[name] = strings.Fields(value)
		}
	}
	return settings
}
