package host

import (
	"fmt"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/toolspecs/lanes"
)

func TestQueueLabels_AreBounded(t *testing.T) {
	android := api.Lane{Name: "android", Key: "{{args.device}}"}
	named := api.Lane{Name: "screens", Key: "{{args.screen}}", Queue: "lab.screens"}
	set := lanes.Of(android, named, api.Lane{Name: "http", Limit: 5})
	registry := prometheus.NewRegistry()
	labels := &queueLabels{base: "yard", current: func() *lanes.Set { return set }}
	h := newMetricsHandler(registry, labels.of).WithTags(map[string]string{"namespace": "n"})
	poll := func(queue string) {
		worker := h.WithTags(map[string]string{queueTag: queue})
		worker.WithTags(map[string]string{"namespace": "n"}).Counter("polls").Inc(1)
	}
	for i := range 100 {
		poll(api.InstanceQueue("yard", "android", fmt.Sprint("run-", i), "probe"))
		poll(android.TaskQueue("yard", fmt.Sprint("device ", i)))
		poll(named.TaskQueue("yard", fmt.Sprint(i)))
	}
	set = lanes.Of(api.Lane{Name: "tablets", Key: "{{args.device}}"})
	for _, queue := range []string{"yard", "yard/http", "yard/androids", "yard/slots/android",
		"yard/bypass/android", "yard/android/7", "yard/tablets/7"} {
		poll(queue)
	}
	server := serve(t, registry)
	server.has(t,
		`polls_total{namespace="n",task_queue="instance"} 100`,
		`polls_total{namespace="n",task_queue="yard/android/key"} 101`,
		`polls_total{namespace="n",task_queue="lab.screens/key"} 100`,
		`polls_total{namespace="n",task_queue="yard/tablets/key"} 1`,
		`polls_total{namespace="n",task_queue="yard/http"} 1`,
		`polls_total{namespace="n",task_queue="yard/androids"} 1`,
		`polls_total{namespace="n",task_queue="yard/slots/android"} 1`,
		`polls_total{namespace="n",task_queue="yard/bypass/android"} 1`,
		`polls_total{namespace="n",task_queue="yard"} 1`,
	)
	if _, body := server.get(t, "/metrics"); strings.Count(body, "\npolls_total{") != 9 {
		t.Errorf("there are other labels too:\n%s", body)
	}
}
