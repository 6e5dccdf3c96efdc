package host

import (
	"context"
	"log/slog"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/switchyard/switchyard/toolspecs/folder"
)

// catalogObserver logs and counts what happens to the tools.
type catalogObserver struct {
	logger *slog.Logger
	events *prometheus.CounterVec
	// healthy is when the folder was last as it should be.
	healthy prometheus.Gauge
}

// observeCatalog logs, counts and hands on what happens to the tools, for as long as they are watched.
func (c Config) observeCatalog(tools *folder.Watcher, registry prometheus.Registerer) {
	o := &catalogObserver{
		logger: c.Logger,
		events: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "switchyard_catalog_events_total",
			Help: "What happened to the worker's tools, by type of event."}, []string{"type"}),
		healthy: prometheus.NewGauge(prometheus.GaugeOpts{Name: "switchyard_catalog_last_success_timestamp_seconds",
			Help: "When toolspecs last came into effect with nothing wrong in the folder."}),
	}
	for _, kind := range folder.CatalogEventTypes {
		o.events.WithLabelValues(string(kind))
	}
	o.healthy.Set(float64(tools.Status().Loaded.Unix()))
	registry.MustRegister(o.events, o.healthy,
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "switchyard_catalog_tools", Help: "Tools that the worker holds."},
			func() float64 { return float64(len(tools.Catalog().All())) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "switchyard_catalog_faulty_files",
			Help: "Files and folders of toolspecs that are wrong, so that what they said before is still in effect."},
			func() float64 { return float64(len(tools.Status().Faults)) }))
	tools.Subscribe(o.handle)
	if c.OnCatalogEvent != nil {
		tools.Subscribe(c.OnCatalogEvent)
	}
}

func (o *catalogObserver) handle(e folder.CatalogEvent) {
	o.events.WithLabelValues(string(e.Type)).Inc()
	if e.Type == folder.ReloadCompleted && e.Faulty == 0 {
		o.healthy.Set(float64(e.Time.Unix()))
	}
	if e.Missed > 0 {
		o.logger.Warn("catalog events were missed", "events", e.Missed)
	}
	level, attributes := logged(e)
	o.logger.LogAttrs(context.Background(), level, strings.ReplaceAll(string(e.Type), "_", " "), attributes...)
}

// logged returns what the log says of an event.
func logged(e folder.CatalogEvent) (slog.Level, []slog.Attr) {
	tool := []slog.Attr{slog.String("tool", e.Tool), slog.String("version", e.Version), slog.String("digest", e.Digest), slog.String("file", e.File)}
	switch e.Type {
	case folder.ReloadStarted:
		return slog.LevelDebug, nil
	case folder.ReloadCompleted:
		return slog.LevelInfo, []slog.Attr{slog.Int("tools", e.Tools), slog.Int("faulty", e.Faulty), slog.Duration("took", e.Took)}
	case folder.LoadError:
		return slog.LevelError, []slog.Attr{slog.String("file", e.File), slog.Any("error", e.Error)}
	case folder.ToolUpdated:
		return slog.LevelInfo, append(tool, slog.String("old_version", e.OldVersion), slog.String("old_digest", e.OldDigest))
	case folder.ToolLoaded:
		return slog.LevelDebug, tool
	default:
		return slog.LevelInfo, tool
	}
}
