# A stand-in for Forgejo: no repositories, no pages, only a server that says at
# /api/healthz whether its database answers.
#
#   gitea web --config FILE
set -u
[ "${1:-}" = web ] && [ "${2:-}" = --config ] || {
	echo "usage: gitea web --config FILE" >&2
	exit 1
}
conf=$3

setting() { # SECTION KEY
	awk -F ' *= *' -v section="[$1]" -v key="$2" '
		/^\[/ { here = $0 == section }
		here && $1 == key { print $2 }' "$conf"
}

[ -r "$conf" ] || {
	echo "cannot read $conf" >&2
	exit 1
}
port=$(setting server HTTP_PORT)
database=$(setting database DB_TYPE)
site=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null; rm -rf "$site"' EXIT
trap 'exit 0' TERM INT
mkdir -p "$site/api"
echo '<!doctype html><title>Forgejo stand-in</title>' >"$site/index.html"
echo '{"status":"pass","checks":{"database:ping":[{"status":"pass"}]}}' >"$site/api/healthz"

if [ "$database" = postgres ]; then
	at=$(setting database HOST)
	case $at in /*) at=127.0.0.1:5432 ;; esac # the stand-in has no socket
	if ! nc -w 5 "${at%:*}" "${at##*:}" </dev/null >/dev/null; then
		echo "the database at $at does not answer" >&2
		exit 1
	fi
fi
httpd -f -p "$(setting server HTTP_ADDR):$port" -h "$site" &
server=$!
(
	until nc -w 1 127.0.0.1 "$port" </dev/null >/dev/null 2>&1; do sleep 1; done
	[ -z "${NOTIFY_SOCKET:-}" ] || systemd-notify --ready --status="serving on port $port"
) &
wait $server
