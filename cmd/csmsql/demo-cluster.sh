#!/bin/sh
# Three nodes, one table space: demo-cluster.sh BINARY SCALE-FACTOR. Leaves nothing behind: no process, no file, no memory.
set -eu
binary=$1
factor=$2

work=$(mktemp -d "${TMPDIR:-/tmp}/csmsql-cluster-XXXXXX")
regions=$(mktemp -d /dev/shm/csmsql-cluster-XXXXXX)
nodes=
clean() {
	for node in $nodes; do
		kill "$node" 2>/dev/null || true
	done
	for node in $nodes; do
		wait "$node" 2>/dev/null || true
	done
	rm -rf "$work" "$regions"
}
trap clean EXIT
trap 'exit 130' INT TERM

# start NAME FLAGS…
start() {
	name=$1
	shift
	"$binary" serve --node "$name" --data "$work/$name" --region-dir "$regions" --pg 127.0.0.1:0 "$@" >"$work/$name.banner" 2>"$work/$name.log" &
	node=$!
	nodes="$nodes $node"
	tries=0
	until grep -q 'is ready' "$work/$name.banner"; do
		tries=$((tries + 1))
		if [ "$tries" -gt 300 ] || ! kill -0 "$node" 2>/dev/null; then
			echo "demo: node $name did not start; its log says:" >&2
			cat "$work/$name.log" >&2
			exit 1
		fi
		sleep 0.1
	done
}

echo "demo: starting node a, which runs the cluster's etcd, and nodes b and c, which join"
start a --cluster-init
start b --etcd "unix://$work/a/etcd/etcd.sock"
start c --etcd "unix://$work/a/etcd/etcd.sock"

echo "demo: generating the eight TPC-H tables at scale factor $factor, spread over the memory of all three"
"$binary" tpch load --sf "$factor" --placement hash --to "$work/a"
"$binary" cluster status --to "$work/b"

for name in a b c; do
	echo "demo: asking the 22 queries through node $name, and checking the answers"
	"$binary" tpch run --to "$work/$name"
	"$binary" sql --to "$work/$name" -c "SELECT count(*) FILTER (fragments > 0) AS queries_split, sum(fragments)::BIGINT AS fragments, sum(bytes_local)::BIGINT AS bytes_read_here, sum(bytes_remote)::BIGINT AS bytes_read_elsewhere FROM csm.queries"
done
echo ok
