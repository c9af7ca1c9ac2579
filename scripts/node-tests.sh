#!/bin/sh
# Runs what takes Node, for `make test`: the official JavaScript clients and suites against a live Belfry,
# that the playground's bundle is what its sources build, and the playground in a browser. Without Node it
# says that it has not run; in CI, that is a failure.
set -eu
cd "$(dirname "$0")/.."

if ! command -v npm >/dev/null 2>&1; then
	echo 'node-tests: not run, there is no npm on this machine'
	[ -z "${CI:-}" ]
	exit
fi

bindir=$(scripts/postgres.sh --bindir)
[ -z "$bindir" ] || export PG_BINDIR="$bindir"

npm --prefix conformance ci --no-audit --no-fund --loglevel=error
npm --prefix conformance test

npm --prefix web/playground ci --no-audit --no-fund --loglevel=error
npm --prefix web/playground run check
if [ -x "${CHROMIUM:=/usr/bin/chromium}" ]; then
	CHROMIUM=$CHROMIUM npm --prefix web/playground test
else
	echo "node-tests: the playground was not tried in a browser, there is no $CHROMIUM"
	[ -z "${CI:-}" ]
fi
