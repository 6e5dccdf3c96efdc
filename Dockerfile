# Images of Switchyard. Build one of the two targets:
#
#   docker build --target starter -t switchyard/starter .
#   docker build --target worker  -t switchyard/worker  .
#
# An application that builds its own worker sets WORKER to its package, such as ./examples/librarian.

FROM docker.io/library/golang:1.26-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG WORKER=./worker
# The version that starter and worker report; (devel) if it is not set.
ARG VERSION=
ENV CGO_ENABLED=0 \
    LDFLAGS="-s -w -X github.com/switchyard/switchyard/internal/buildinfo.version=$VERSION"
RUN go build -trimpath -ldflags="$LDFLAGS" -o /out/starter ./starter
RUN go build -trimpath -ldflags="$LDFLAGS" -o /out/worker "$WORKER"

# The command line and the codec server: no shell, no package manager.
FROM gcr.io/distroless/static-debian12:nonroot AS starter
ARG VERSION=unknown
LABEL org.opencontainers.image.title="Switchyard starter" \
      org.opencontainers.image.description="Starts, follows and inspects runs of Switchyard; serves the payload codec" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="$VERSION"
COPY --from=build /out/starter /usr/local/bin/starter
WORKDIR /work
ENTRYPOINT ["/usr/local/bin/starter"]

# The worker. It has a shell and Node.js, because tools can be commands and MCP servers.
FROM docker.io/library/node:24-bookworm-slim AS worker
ARG VERSION=unknown
LABEL org.opencontainers.image.title="Switchyard worker" \
      org.opencontainers.image.description="Executes runs of Switchyard and their tool calls" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="$VERSION"
RUN useradd --system --uid 65532 --create-home --home-dir /var/lib/switchyard switchyard
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /out/worker /usr/local/bin/worker
USER 65532
WORKDIR /var/lib/switchyard
ENTRYPOINT ["/usr/local/bin/worker"]
# The worker stops when its running calls have ended, at the latest after --stop-timeout (30 s).
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=5s --timeout=4s --start-period=60s --retries=3 \
    CMD ["/usr/local/bin/worker", "--health", "--metrics-address", ":9464"]
CMD ["--metrics-address", ":9464"]
