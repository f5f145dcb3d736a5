# A stand-in for nginx: serves files by the name the client asked for, answers
# and passes requests on, over plain HTTP/1.0. Its configuration is a table of
# its own (see the module); TLS, caching and all else of nginx are missing.
#
#   nginx -t -c FILE     check the table
#   nginx -c FILE        serve, in the foreground
#   nginx -r             answer the one request on standard input
set -u
tab='	'

fail() {
	echo "nginx: [emerg] $*" >&2
	exit 1
}

check() {
	[ -r "$conf" ] || fail "open() \"$conf\" failed"
	grep -q "^listen$tab" "$conf" || fail "no \"listen\" in $conf"
	while IFS="$tab" read -r word a b c d _; do
		case $word in
		listen | server) ;;
		location)
			case $b in
			root | proxy | return | redirect) ;;
			*) fail "unknown directive \"$b\" in $conf" ;;
			esac
			[ -n "$c" ] || fail "location $a of $conf has no value"
			;;
		*) fail "unknown directive \"$word\" in $conf" ;;
		esac
	done <"$conf"
}

head() { # STATUS TYPE LENGTH [HEADER]
	printf 'HTTP/1.0 %s\r\nServer: nginx-standin\r\nContent-Type: %s\r\nContent-Length: %s\r\n%sConnection: close\r\n\r\n' \
		"$1" "$2" "$3" "${4:-}"
}

plain() { # STATUS [HEADER]
	head "$1" text/plain $((${#1} + 1)) "${2:-}"
	[ "$method" = HEAD ] || printf '%s\n' "$1"
}

type_of() {
	case $1 in
	*.html | *.htm) echo text/html ;;
	*.css) echo text/css ;;
	*.js) echo text/javascript ;;
	*.json) echo application/json ;;
	*.svg) echo image/svg+xml ;;
	*.png) echo image/png ;;
	*.txt) echo text/plain ;;
	*) echo application/octet-stream ;;
	esac
}

# The server of a name is the one that bears it, or else the default one; its
# location is the longest one that the path begins with.
route() {
	awk -F "$tab" -v name="$1" -v path="$2" '
		$1 == "server" {
			n++
			if ($2 == "default" && !fallback) fallback = n
			for (i = 3; i <= NF; i++) if ($i == name) hit = n
		}
		$1 == "location" { at[n, ++count[n]] = $0 }
		END {
			if (!hit) hit = fallback ? fallback : 1
			for (i = 1; i <= count[hit]; i++) {
				split(at[hit, i], f, FS)
				if (index(path, f[2]) == 1 && length(f[2]) > length(best)) { best = f[2]; line = at[hit, i] }
			}
			print line
		}' "$conf"
}

request() {
	cr=$(printf '\r')
	IFS=' ' read -r method uri _ || exit 0
	host= length=0 headers=
	while IFS= read -r line; do
		line=${line%"$cr"}
		[ -n "$line" ] || break
		case $line in
		[Hh]ost:*) host=${line#*:} ;;
		[Cc]ontent-[Ll]ength:*) length=${line#*:} ;;
		esac
		case $line in
		[Cc]onnection:*) ;;
		*) headers="$headers$line$cr
" ;;
		esac
	done
	host=${host# }
	host=${host%%:*}
	length=${length# }
	path=${uri%%[?#]*}
	IFS="$tab" read -r _ _ kind value more <<-EOF
		$(route "$host" "$path")
	EOF
	case ${kind:-} in
	root) serve ;;
	return) plain "$value" ;;
	redirect) plain "$value" "Location: $more$(printf '\r')
" ;;
	proxy)
		{
			printf '%s %s HTTP/1.0\r\n%sX-Forwarded-Proto: http\r\nConnection: close\r\n\r\n' "$method" "$uri" "$headers"
			[ "$length" = 0 ] || dd bs=1 count="$length" 2>/dev/null
		} | nc "$value" "$more" || plain '502 Bad Gateway'
		;;
	*) plain '404 Not Found' ;;
	esac
}

serve() {
	case $method in
	GET | HEAD) ;;
	*)
		plain '405 Not Allowed'
		return
		;;
	esac
	case $path in */../* | */..) path=/.. ;; esac
	file=$value$path
	[ ! -d "$file" ] || file=${file%/}/index.html
	if [ "$path" = /.. ] || [ ! -f "$file" ]; then
		plain '404 Not Found'
		return
	fi
	head '200 OK' "$(type_of "$file")" "$(stat -L -c %s "$file")"
	[ "$method" = HEAD ] || cat "$file"
}

mode=serve conf=${NGINX_CONF:-/etc/nginx/nginx.conf}
while getopts tc:r flag; do
	case $flag in
	t) mode=check ;;
	c) conf=$OPTARG ;;
	r) mode=request ;;
	*) exit 1 ;;
	esac
done

case $mode in
request) request ;;
check)
	check
	echo "nginx: configuration file $conf test is successful" >&2
	;;
serve)
	check
	trap : HUP # the table is read anew for each request
	trap 'kill $(jobs -p) 2>/dev/null; exit 0' TERM INT
	trap 'kill $(jobs -p) 2>/dev/null; fail "a listener ended"' USR1
	export NGINX_CONF="$conf"
	for address in $(awk -F "$tab" '$1 == "listen" { print $2 }' "$conf" | sort -u); do
		host=${address%:*}
		[ "$host" != "$address" ] || host=
		{
			nc -ll -p "${address##*:}" $host -e "$0" -r
			kill -USR1 $$
		} &
	done
	while :; do wait; done
	;;
esac
