package main

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/server/common/authorization"
	"go.temporal.io/server/common/cluster"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/membership/static"
	"go.temporal.io/server/common/metrics"
	"go.temporal.io/server/common/primitives"
	"go.temporal.io/server/temporal"
)

const (
	clusterName = "active"
	storeName   = "sqlite"
	// shards is fixed when the database file is created. SQLite has one writer, so more shards only
	// cost memory.
	shards = 1
	// stopTimeout bounds a clean end: the server drains for a second or two while workers are
	// connected.
	stopTimeout = 10 * time.Second
)

// server is everything that runs in this process.
type server struct {
	cfg      *settings
	ports    *ports
	db       *database
	temporal temporal.Server
	ui       *webUI // nil when headless
	log      *logging
}

// startServer brings up store, server and UI and returns once all of them answer. Nothing keeps
// running when it returns an error, which names what failed and the flag that changes it. Busy
// ports are found before anything is touched.
func startServer(ctx context.Context, cfg *settings) (*server, error) {
	taken, err := reservePorts(cfg)
	if err != nil {
		return nil, err
	}
	defer taken.release()
	db, err := openDatabase(ctx, cfg.dbFilename, cfg.namespaces)
	if err != nil {
		return nil, err
	}
	s := &server{cfg: cfg, ports: taken, db: db, log: newLogging(cfg.logLevel)}
	if err := s.start(ctx); err != nil {
		return nil, errors.Join(err, s.stop())
	}
	return s, nil
}

func (s *server) start(ctx context.Context) error {
	s.ports.releaseServer() // the server listens as soon as it is created
	created, err := newTemporal(s.cfg, s.ports, s.db, s.log.logger)
	if err != nil {
		return fmt.Errorf("cannot set up the server: %w", err)
	}
	if err := created.Start(); err != nil {
		return fmt.Errorf("cannot start the server: %w", err)
	}
	s.temporal = created
	if !s.cfg.headless {
		if s.ui, err = startUI(s.cfg, s.ports); err != nil {
			return fmt.Errorf("cannot start the Web UI: %w", err)
		}
	}
	return s.awaitReady(ctx)
}

// stop stops UI, server and store, in this order. The error names what did not stop in time.
func (s *server) stop() error {
	s.log.quiet()
	if s.ui != nil {
		s.ui.Stop()
	}
	if s.temporal != nil {
		ended := make(chan error, 1)
		go func() { ended <- s.temporal.Stop() }()
		select {
		case err := <-ended:
			if err != nil {
				return errors.Join(fmt.Errorf("the server did not stop cleanly: %w", err),
					s.db.close())
			}
		case <-time.After(stopTimeout):
			return fmt.Errorf("the server did not stop within %s; acknowledged data is stored",
				stopTimeout)
		}
	}
	return s.db.close()
}

// address is the address for clients on this machine.
func (s *server) address() netip.AddrPort { return reachable(s.ports.frontend.addr) }

func newTemporal(cfg *settings, p *ports, db *database, logger log.Logger) (temporal.Server,
	error) {
	static := staticConfig(cfg, p, db)
	authorizer, err := authorization.GetAuthorizerFromConfig(&static.Global.Authorization)
	if err != nil {
		return nil, err
	}
	claims, err := authorization.GetClaimMapperFromConfig(&static.Global.Authorization, logger)
	if err != nil {
		return nil, err
	}
	return temporal.NewServer(
		temporal.WithConfig(static),
		temporal.ForServices(temporal.DefaultServices),
		temporal.WithStaticHosts(p.hosts()),
		temporal.WithLogger(logger),
		temporal.WithAuthorizer(authorizer),
		temporal.WithClaimMapper(func(*config.Config) authorization.ClaimMapper { return claims }),
		temporal.WithDynamicConfigClient(cfg.tuning),
	)
}

// staticConfig is the configuration that other installations read from a file.
func staticConfig(cfg *settings, p *ports, db *database) *config.Config {
	frontend := reachable(p.frontend.addr).String()
	c := &config.Config{
		Services: p.services(),
		Persistence: config.Persistence{
			DefaultStore: storeName, VisibilityStore: storeName, NumHistoryShards: shards,
			DataStores: map[string]config.DataStore{storeName: {SQL: &db.sql}},
		},
		ClusterMetadata: &cluster.Config{
			FailoverVersionIncrement: 10, MasterClusterName: clusterName,
			CurrentClusterName: clusterName,
			ClusterInformation: map[string]cluster.ClusterInformation{clusterName: {
				Enabled: true, InitialFailoverVersion: 1, ClusterID: uuid.NewString(),
				RPCAddress: frontend, HTTPAddress: reachable(p.http.addr).String(),
			}},
		},
		DCRedirectionPolicy: config.DCRedirectionPolicy{Policy: "noop"},
		PublicClient:        config.PublicClient{HostPort: frontend},
	}
	c.Global.Membership = config.Membership{MaxJoinDuration: 30 * time.Second,
		BroadcastAddress: loopback.String()}
	if p.metrics.addr.IsValid() {
		c.Global.Metrics = &metrics.Config{Prometheus: &metrics.PrometheusConfig{
			ListenAddress: p.metrics.addr.String(), HandlerPath: "/metrics",
		}}
	}
	const off = config.ArchivalDisabled
	c.Archival.History.State, c.Archival.Visibility.State = off, off
	c.NamespaceDefaults.Archival.History.State, c.NamespaceDefaults.Archival.Visibility.State = off,
		off
	return c
}

// services configures the four services of the server. Only the frontend listens on the configured
// address.
func (p *ports) services() map[string]config.Service {
	services := map[string]config.Service{}
	for name, r := range p.parts() {
		rpc := config.RPC{GRPCPort: r.port(), BindOnIP: r.addr.Addr().String()}
		if name == primitives.FrontendService {
			rpc.HTTPPort = p.http.port()
		}
		services[string(name)] = config.Service{RPC: rpc}
	}
	return services
}

// hosts lists the addresses of the server's services, so that none has to be discovered.
func (p *ports) hosts() map[primitives.ServiceName]static.Hosts {
	hosts := map[primitives.ServiceName]static.Hosts{}
	for name, r := range p.parts() {
		hosts[name] = static.SingleLocalHost(reachable(r.addr).String())
	}
	return hosts
}

func (p *ports) parts() map[primitives.ServiceName]*reservation {
	return map[primitives.ServiceName]*reservation{
		primitives.FrontendService: &p.frontend,
		primitives.HistoryService:  &p.history,
		primitives.MatchingService: &p.matching,
		primitives.WorkerService:   &p.worker,
	}
}
