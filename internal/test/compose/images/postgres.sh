#!/bin/sh
# Does at its start what the official image of PostgreSQL does: creates the cluster if the volume is empty, and serves it.
set -eu
if [ "$(id -u)" = 0 ]; then
	chown postgres: "$PGDATA"
	exec setpriv --reuid=postgres --regid=postgres --init-groups "$0" "$@"
fi
if [ ! -s "$PGDATA/PG_VERSION" ]; then
	passwords=$(mktemp)
	printf '%s\n' "${POSTGRES_PASSWORD:?}" >"$passwords"
	initdb --username="$POSTGRES_USER" --pwfile="$passwords"
	rm "$passwords"
	echo 'host all all all scram-sha-256' >>"$PGDATA/pg_hba.conf"
	# On its socket only, until the database of the user exists.
	pg_ctl --wait -o "-c listen_addresses=''" start
	createdb --username="$POSTGRES_USER" "${POSTGRES_DB:-$POSTGRES_USER}"
	pg_ctl --wait --mode=fast stop
fi
exec "$@" -c listen_addresses='*'
