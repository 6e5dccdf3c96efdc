package operate

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/switchyard/switchyard/internal/healthcheck"
	"github.com/switchyard/switchyard/internal/httpserver"
	"github.com/switchyard/switchyard/payloads"
	"github.com/switchyard/switchyard/starter/cli"
	"go.temporal.io/sdk/converter"
)

// codecVariable is the environment variable with the codec server's token.
const codecVariable = "SWITCHYARD_CODEC_TOKEN"

const (
	// codecRead bounds the arrival of a request until its body is read, codecWrite the time until
	// it is answered, codecGrace the completion of open requests.
	codecRead  = 30 * time.Second
	codecWrite = 2 * time.Minute
	codecGrace = 3 * time.Second
	// maxCodecBody bounds a request body, maxCodecAnswer the payloads of an answer, in bytes.
	maxCodecBody   = 32 << 20
	maxCodecAnswer = 32 << 20
	// maxBodies bounds the requests whose bodies are in memory, maxDecodings those of them that are
	// decoded at the same time. Others wait, up to codecPlace each.
	maxBodies    = 8
	maxDecodings = 4
	codecPlace   = 30 * time.Second
	// codecStretch bounds the arrival of each MiB of a body, and of its rest.
	codecStretch = 5 * time.Second
	// leastToken is the minimum token length.
	leastToken = 16
)

const codecHelp = `Serves what Temporal's Web UI and CLI need to show payloads that are compressed, encrypted or in a
payload store. It decodes only (POST /decode and /download) and never returns keys.

Requests must carry the token from SWITCHYARD_CODEC_TOKEN, or the random one created at start: as
the first part of the path, as in the printed address, or as "Authorization: Bearer TOKEN". The
token allows its owner to read every payload that they can fetch from the server. Only web pages of
--allow-origin may send requests.

In the Web UI, enter the printed address as "codec endpoint" under the glasses icon. With the Temporal
CLI: temporal workflow show -w RUN --codec-endpoint ADDRESS.`

// codecReady is the codec server's output when it is ready.
type codecReady struct {
	Endpoint string   `json:"endpoint"`
	Origins  []string `json:"origins"`
}

func codecCommand(a *cli.App) *cobra.Command {
	var listen string
	var origins []string
	var health bool
	cmd := &cobra.Command{
		Use: "codec", GroupID: cli.GroupServer,
		Short: "Decode payloads for Temporal's Web UI and CLI", Long: codecHelp,
		Example: `  starter codec --payload-keys keys.yaml
  starter codec --payload-store file:///var/lib/switchyard/payloads --allow-origin https://temporal.example.org`,
		Args: cli.Arguments(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if health {
				return checkCodec(cmd.Context(), a, listen)
			}
			if !a.Connection.StoresPayloads() {
				return cli.UsageError(cmd,
					"no payload codec is set: pass --payload-keys, --payload-store or --payload-compression like the workers")
			}
			storage, err := a.Connection.Storage()
			if err != nil {
				return err
			}
			token := cmp.Or(os.Getenv(codecVariable), rand.Text())
			if len(token) < leastToken || strings.ContainsAny(token, "/?#% ") {
				return cli.UsageError(cmd,
					"%s is not a token: at least %d characters that are valid in a path",
					codecVariable, leastToken)
			}
			handler, err := codecHandler(storage, token, origins)
			if err != nil {
				return err
			}
			return serveCodec(cmd.Context(), a, listen, handler, codecReady{Endpoint: token,
				Origins: origins})
		},
	}
	cmd.Flags().StringVar(&listen, "listen", "127.0.0.1:8081",
		"`host:port` to listen on; port 0 selects a free port")
	cmd.Flags().StringSliceVar(&origins, "allow-origin",
		[]string{cli.LocalUI, "http://localhost:8233"},
		"`URL` of a Web UI that may send requests; repeatable")
	cmd.Flags().BoolVar(&health, "health", false,
		"ask the codec server at --listen whether it serves, and exit with 0 or 1")
	return cmd
}

// checkCodec asks the codec server at address whether it serves.
func checkCodec(ctx context.Context, a *cli.App, address string) error {
	if err := healthcheck.Ask(ctx, address, "/healthz"); err != nil {
		return cli.Errorf(cli.ExitFailed, "the codec server: %w", err)
	}
	return a.Println("ready")
}

// serveCodec serves until ctx ends. ready holds the token for the printed endpoint.
func serveCodec(ctx context.Context, a *cli.App, listen string, handler http.Handler,
	ready codecReady) error {
	listener, err := net.Listen("tcp", listen)
	if err != nil {
		return cli.Errorf(cli.ExitUsage, "--listen %s: %w", listen, err)
	}
	ready.Endpoint = "http://" + listener.Addr().String() + "/" + ready.Endpoint
	server := httpserver.New(handler, httpserver.Limits{Read: codecRead, Write: codecWrite,
		Body: maxCodecBody})
	defer context.AfterFunc(ctx, func() {
		grace, cancel := context.WithTimeout(context.Background(), codecGrace)
		defer cancel()
		_ = server.Shutdown(grace) // open requests end with the process
	})()
	if err := tellCodec(a, ready); err != nil {
		return errors.Join(err, listener.Close())
	}
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return cli.Errorf(cli.ExitFailed, "the codec server: %w", err)
	}
	return nil
}

func tellCodec(a *cli.App, ready codecReady) error {
	if a.Format.JSON() {
		return cli.WriteJSON(a.Out, ready, false)
	}
	p := a.PaletteFor(a.Out)
	return a.Println(p.Bold("codec endpoint") + "  " + ready.Endpoint + "\n" +
		p.Bold("for pages of  ") + "  " + strings.Join(ready.Origins, ", ") +
		"\n\nAnyone with this address can read payloads. Ctrl-C stops the server.")
}

// codecHandler requires the token. Browsers are admitted from origins only.
func codecHandler(storage *payloads.Storage, token string, origins []string) (http.Handler, error) {
	decoder, err := converter.NewPayloadHTTPHandler(
		converter.PayloadHTTPHandlerOptions{PreStorageCodecs: storage.CodecsWithin(maxCodecAnswer),
			ExternalStorage: storage.External()})
	if err != nil {
		return nil, err
	}
	requests := newIntake(maxBodies, maxDecodings, codecPlace, codecStretch)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !checkOrigin(w, r, origins) {
			return
		}
		path, authorized := withoutToken(r, token)
		switch {
		case r.Method == http.MethodGet && r.URL.Path == "/healthz":
			_, _ = w.Write([]byte("ok\n"))
		case r.Method == http.MethodOptions:
			w.WriteHeader(http.StatusNoContent)
		case !authorized:
			http.Error(w, "the token is missing or wrong: it is the first part of the path, or Authorization: Bearer TOKEN",
				http.StatusUnauthorized)
		case path != "/decode" && path != "/download":
			http.NotFound(w, r)
		default:
			r.URL.Path = path
			requests.serve(w, r, decoder)
		}
	}), nil
}

// checkOrigin reports whether a request is from no page or from a page of origins. It answers
// others.
func checkOrigin(w http.ResponseWriter, r *http.Request, origins []string) bool {
	origin := r.Header.Get("Origin")
	switch {
	case origin == "":
	case slices.Contains(origins, origin):
		allow(w.Header(), origin)
	default:
		http.Error(w, "pages of "+origin+" are not allowed; pass --allow-origin",
			http.StatusForbidden)
		return false
	}
	return true
}

// allow sets the CORS headers for origin.
func allow(header http.Header, origin string) {
	header.Set("Access-Control-Allow-Origin", origin)
	header.Set("Access-Control-Allow-Methods", "POST, OPTIONS")
	header.Set("Access-Control-Allow-Headers",
		"Authorization, Content-Type, X-Namespace, Temporal-Namespace")
	header.Set("Access-Control-Allow-Credentials", "true")
	header.Set("Access-Control-Max-Age", "600")
	header.Add("Vary", "Origin")
}

// withoutToken returns the path after the token and whether the request has the right token.
func withoutToken(r *http.Request, token string) (path string, ok bool) {
	same := func(given string) bool {
		return subtle.ConstantTimeCompare([]byte(given),
			[]byte(token)) == 1
	}
	if first, rest, found := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/"); found &&
		same(first) {
		return "/" + rest, true
	}
	bearer, found := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return r.URL.Path, found && same(bearer)
}
