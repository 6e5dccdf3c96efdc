// embedded Temporal server + UI in one process (SQLite file or memory).
package main

import (
	"flag"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/google/uuid"
	uiserver "github.com/temporalio/ui-server/v2/server"
	uiconfig "github.com/temporalio/ui-server/v2/server/config"
	uiopts "github.com/temporalio/ui-server/v2/server/server_options"
	"go.temporal.io/server/common/authorization"
	"go.temporal.io/server/common/cluster"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/dynamicconfig"
	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/membership/static"
	"go.temporal.io/server/common/metrics"
	sqliteplugin "go.temporal.io/server/common/persistence/sql/sqlplugin/sqlite"
	"go.temporal.io/server/common/primitives"
	"go.temporal.io/server/schema/sqlite"
	"go.temporal.io/server/temporal"
)

func freePort(ip string) int {
	l, err := net.Listen("tcp", ip+":0")
	if err != nil {
		panic(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

func must[T any](v T, err error) T {
	if err != nil {
		fmt.Fprintln(os.Stderr, "fatal:", err)
		os.Exit(1)
	}
	return v
}

func main() {
	ip := flag.String("ip", "127.0.0.1", "")
	port := flag.Int("port", 7233, "")
	uiPort := flag.Int("ui-port", 0, "0 = no UI")
	metricsPort := flag.Int("metrics-port", 0, "")
	db := flag.String("db", "", "empty = memory")
	shards := flag.Int("shards", 1, "")
	dyn := flag.String("dyn", "", "dynamic config yaml file")
	level := flag.String("log", "warn", "")
	journal := flag.String("journal", "", "e.g. wal")
	flag.Parse()
	t0 := time.Now()

	sql := &config.SQL{PluginName: sqliteplugin.PluginName, DatabaseName: *db, ConnectAttributes: map[string]string{"mode": "rwc"}}
	if *db == "" {
		sql.DatabaseName = strconv.Itoa(os.Getpid())
		sql.ConnectAttributes = map[string]string{"mode": "memory", "cache": "shared"}
	}
	if *journal != "" {
		sql.ConnectAttributes["journal_mode"] = *journal
		sql.ConnectAttributes["synchronous"] = "NORMAL"
	}
	if *db != "" {
		if _, err := os.Stat(*db); os.IsNotExist(err) {
			must(filepath.Abs(*db))
			must(0, sqlite.SetupSchema(sql))
		}
	}
	ns := must(sqlite.NewNamespaceConfig("active", "default", false, nil))
	must(0, sqlite.CreateNamespaces(sql, ns))

	svc := func(p, http int) config.Service {
		return config.Service{RPC: config.RPC{GRPCPort: p, HTTPPort: http, BindOnIP: *ip}}
	}
	ports := map[string]int{"frontend": *port, "history": freePort(*ip), "matching": freePort(*ip), "worker": freePort(*ip)}
	httpPort := freePort(*ip)
	cfg := &config.Config{
		Services: map[string]config.Service{},
		Persistence: config.Persistence{DefaultStore: "db", VisibilityStore: "db", NumHistoryShards: int32(*shards),
			DataStores: map[string]config.DataStore{"db": {SQL: sql}}},
		ClusterMetadata: &cluster.Config{FailoverVersionIncrement: 10, MasterClusterName: "active", CurrentClusterName: "active",
			ClusterInformation: map[string]cluster.ClusterInformation{"active": {Enabled: true, InitialFailoverVersion: 1,
				RPCAddress:  fmt.Sprintf("%s:%d", *ip, *port),
				HTTPAddress: fmt.Sprintf("%s:%d", *ip, httpPort), ClusterID: uuid.NewString()}}},
		DCRedirectionPolicy: config.DCRedirectionPolicy{Policy: "noop"},
		PublicClient:        config.PublicClient{HostPort: fmt.Sprintf("%s:%d", *ip, *port)},
	}
	cfg.Global.Membership = config.Membership{MaxJoinDuration: 30 * time.Second, BroadcastAddress: *ip}
	if *metricsPort != 0 {
		cfg.Global.Metrics = &metrics.Config{Prometheus: &metrics.PrometheusConfig{
			ListenAddress: fmt.Sprintf("%s:%d", *ip, *metricsPort), HandlerPath: "/metrics"}}
	}
	cfg.Archival.History.State, cfg.Archival.Visibility.State = "disabled", "disabled"
	cfg.NamespaceDefaults.Archival.History.State, cfg.NamespaceDefaults.Archival.Visibility.State = "disabled", "disabled"
	hosts := map[primitives.ServiceName]static.Hosts{}
	for name, p := range ports {
		h := 0
		if name == "frontend" {
			h = httpPort
		}
		cfg.Services[name] = svc(p, h)
		hosts[primitives.ServiceName(name)] = static.SingleLocalHost(fmt.Sprintf("%s:%d", *ip, p))
	}

	logger := log.NewZapLogger(log.BuildZapLogger(log.Config{Stdout: true, Level: *level, Format: "console"}))
	auth := must(authorization.GetAuthorizerFromConfig(&cfg.Global.Authorization))
	cm := must(authorization.GetClaimMapperFromConfig(&cfg.Global.Authorization, logger))
	opts := []temporal.ServerOption{
		temporal.WithConfig(cfg), temporal.ForServices(temporal.DefaultServices), temporal.WithStaticHosts(hosts),
		temporal.WithLogger(logger), temporal.WithAuthorizer(auth),
		temporal.WithClaimMapper(func(*config.Config) authorization.ClaimMapper { return cm }),
		temporal.InterruptOn(temporal.InterruptCh()),
	}
	if *dyn == "" {
		opts = append(opts, temporal.WithDynamicConfigClient(dynamicconfig.StaticClient{
			dynamicconfig.ForceSearchAttributesCacheRefreshOnRead.Key(): true,
			dynamicconfig.HistoryCacheHostLevelMaxSize.Key():            8096,
			dynamicconfig.FrontendPersistenceMaxQPS.Key():               10000,
			dynamicconfig.HistoryPersistenceMaxQPS.Key():                45000,
		}))
	} else {
		cfg.DynamicConfigClient = &dynamicconfig.FileBasedClientConfig{Filepath: *dyn, PollInterval: 10 * time.Second}
	}
	srv := must(temporal.NewServer(opts...))
	if *uiPort != 0 {
		ui := uiserver.NewServer(uiopts.WithConfigProvider(&uiconfig.Config{Host: *ip, Port: *uiPort, EnableUI: true, HideLogs: true,
			DisableNewsFetch: true, TemporalGRPCAddress: fmt.Sprintf("%s:%d", *ip, *port), CORS: uiconfig.CORS{CookieInsecure: true}}))
		go func() { must(0, ui.Start()) }()
		defer ui.Stop()
	}
	go func() {
		for {
			c, err := net.Dial("tcp", fmt.Sprintf("%s:%d", *ip, *port))
			if err == nil {
				c.Close()
				slog.Info("frontend listening", "after", time.Since(t0))
				return
			}
			time.Sleep(5 * time.Millisecond)
		}
	}()
	must(0, srv.Start()) // blocks: InterruptOn set
}
