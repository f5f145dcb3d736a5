# A stand-in for PostgreSQL: it takes connections and refuses every session in
# the words of the protocol. There is no database behind it.
#
#   postgres -D DIR      serve; port and addresses stand in DIR/postgresql.conf
#   postgres -r          answer the one session on standard input
set -u
case ${1:-} in
-r)
	# A start message, or a request for encryption, is at least eight bytes.
	dd bs=1 count=8 >/dev/null 2>&1
	printf 'E\000\000\000\057SFATAL\000C57P03\000Mstand-in: no database here\000\000'
	;;
-D)
	conf=$2/postgresql.conf
	[ -r "$conf" ] || {
		echo "cannot read $conf" >&2
		exit 1
	}
	port=$(sed -n 's/^port = //p' "$conf")
	address=127.0.0.1
	grep -q "^listen_addresses = '\*'" "$conf" && address=0.0.0.0
	exec nc -ll -p "$port" "$address" -e "$0" -r
	;;
*)
	echo "usage: postgres -D DIR" >&2
	exit 1
	;;
esac
