#!/bin/sh
# The product in one minute: demo.sh BINARY SCALE-FACTOR. Leaves nothing behind: no process, no file, no memory.
set -eu
binary=$1
factor=$2

work=$(mktemp -d "${TMPDIR:-/tmp}/csmsql-demo-XXXXXX")
# The region lies in memory where that has room: containers often have 64 MiB of /dev/shm.
regions=$work fabric=file
room=$(df -Pk /dev/shm 2>/dev/null | tail -n 1 | tr -s ' ' | cut -d ' ' -f 4 || true)
if [ "${room:-0}" -gt 524288 ] && memory=$(mktemp -d /dev/shm/csmsql-demo-XXXXXX 2>/dev/null); then
	regions=$memory fabric=shm
fi
node=
clean() {
	if [ -n "$node" ]; then
		kill "$node" 2>/dev/null || true
		wait "$node" 2>/dev/null || true
	fi
	rm -rf "$work" "$regions"
}
trap clean EXIT
trap 'exit 130' INT TERM

echo "demo: starting a node on a free port, its data in a temporary directory"
"$binary" serve --data "$work/data" --region-dir "$regions" --fabric "$fabric" --pg 127.0.0.1:0 >"$work/banner" 2>"$work/log" &
node=$!
tries=0
until grep -q 'is ready' "$work/banner"; do
	tries=$((tries + 1))
	if [ "$tries" -gt 300 ] || ! kill -0 "$node" 2>/dev/null; then
		echo "demo: the node did not start; its log says:" >&2
		cat "$work/log" >&2
		exit 1
	fi
	sleep 0.1
done
cat "$work/banner"

echo "demo: generating the eight TPC-H tables at scale factor $factor, straight into lent memory"
"$binary" tpch load --sf "$factor" --to "$work/data"

echo "demo: asking the 22 queries over the PostgreSQL protocol, and checking the answers"
"$binary" tpch run --to "$work/data"

echo "demo: stopping the node"
kill -TERM "$node"
wait "$node"
node=
echo ok
