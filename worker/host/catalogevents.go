package host

import (
	"context"
	"log/slog"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/switchyard/switchyard/toolspecs/folder"
)

// catalogObserver logs and counts catalog events.
type catalogObserver struct {
	logger *slog.Logger
	events *prometheus.CounterVec
	// healthy is the time of the last reload without faults.
	healthy prometheus.Gauge
}

// observeCatalog logs, counts and forwards catalog events until the watcher is closed, and warns of
// tools that outlast the stop timeout.
func (c Config) observeCatalog(tools *folder.Watcher, registry prometheus.Registerer) {
	o := &catalogObserver{
		logger: c.Logger,
		events: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "switchyard_catalog_events_total",
			Help: "Events of the worker's catalog."}, []string{"type"}),
		healthy: prometheus.NewGauge(
			prometheus.GaugeOpts{Name: "switchyard_catalog_last_success_timestamp_seconds",
				Help: "Time of the last reload of toolspecs without faults."}),
	}
	for _, kind := range folder.CatalogEventTypes {
		o.events.WithLabelValues(string(kind))
	}
	o.healthy.Set(float64(tools.Status().Loaded.Unix()))
	registry.MustRegister(o.events, o.healthy,
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "switchyard_catalog_tools",
			Help: "Tools in the worker's catalog."},
			func() float64 { return float64(len(tools.Catalog().All())) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "switchyard_catalog_faulty_files",
			Help: "Invalid files and folders of toolspecs. Their previous content stays in " +
				"effect."},
			func() float64 { return float64(len(tools.Status().Faults)) }))
	tools.Subscribe(o.handle)
	c.warnOutlasting(tools)
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
	level, attributes := describeEvent(e)
	o.logger.LogAttrs(context.Background(), level, strings.ReplaceAll(string(e.Type), "_", " "),
		attributes...)
}

// describeEvent returns the level and the attributes that an event is logged with.
func describeEvent(e folder.CatalogEvent) (slog.Level, []slog.Attr) {
	tool := []slog.Attr{slog.String("tool", e.Tool), slog.String("version", e.Version),
		slog.String("digest", e.Digest), slog.String("file", e.File)}
	switch e.Type {
	case folder.ReloadStarted:
		return slog.LevelDebug, nil
	case folder.ReloadCompleted:
		return slog.LevelInfo, []slog.Attr{slog.Int("tools", e.Tools), slog.Int("faulty", e.Faulty),
			slog.Duration("took", e.Took)}
	case folder.LoadError:
		return slog.LevelError, []slog.Attr{slog.String("file", e.File), slog.Any("error", e.Error)}
	case folder.ToolUpdated:
		return slog.LevelInfo, append(tool, slog.String("old_version", e.OldVersion),
			slog.String("old_digest", e.OldDigest))
	case folder.ToolLoaded:
		return slog.LevelDebug, tool
	default:
		return slog.LevelInfo, tool
	}
}
