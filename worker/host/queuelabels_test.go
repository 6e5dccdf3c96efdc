package host

import (
	"fmt"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/lanerules"
	"github.com/switchyard/switchyard/internal/core/queues"
)

func TestQueueLabels_AreBounded(t *testing.T) {
	android := api.Lane{Name: "android", Key: "{{args.device}}"}
	registry := prometheus.NewRegistry()
	h := newMetricsHandler(registry, queueLabel).WithTags(map[string]string{"namespace": "n"})
	poll := func(queue string) {
		worker := h.WithTags(map[string]string{queueTag: queue})
		worker.WithTags(map[string]string{"namespace": "n"}).Counter("polls").Inc(1)
	}
	for i := range 1000 {
		poll(queues.Instance("yard", "android", fmt.Sprint("run-", i), "probe"))
		poll(lanerules.TaskQueue(android, "yard", fmt.Sprint("device ", i)))
	}
	for _, queue := range []string{"yard", "yard/http", "yard/slots/android"} {
		poll(queue)
	}
	server := serve(t, registry)
	server.has(t,
		`polls_total{namespace="n",task_queue="instance"} 1000`,
		`polls_total{namespace="n",task_queue="yard/http"} 1`,
		`polls_total{namespace="n",task_queue="yard/slots/android"} 1`,
		`polls_total{namespace="n",task_queue="yard"} 1`,
	)
	_, body := server.get(t, "/metrics")
	if series := strings.Count(body, "\npolls_total{"); series != 4+lanerules.KeyQueues {
		t.Errorf("there are %d series:\n%s", series, body)
	}
}
