#!/bin/sh
# Three nodes, one table space: demo-cluster.sh BINARY SCALE-FACTOR. Leaves nothing behind: no process, no file, no memory.
set -eu
binary=$1
factor=$2

work=$(mktemp -d "${TMPDIR:-/tmp}/csmsql-cluster-XXXXXX")
regions=$(mktemp -d /dev/shm/csmsql-cluster-XXXXXX)
nodes=
clean() {
	status=$?
	if [ "$status" -ne 0 ] && [ "$status" -ne 130 ]; then
		echo "demo: it failed; the nodes' logs end with:" >&2
		tail -n 20 "$work"/*.log >&2 || true
	fi
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
	: >"$work/$name.banner" # it is looked into at once
	"$binary" serve --node "$name" --data "$work/$name" --region-dir "$regions" --pg 127.0.0.1:0 "$@" >"$work/$name.banner" 2>"$work/$name.log" &
	node=$!
	nodes="$nodes $node"
	tries=0
	until grep -q 'is ready' "$work/$name.banner"; do
		tries=$((tries + 1))
		if [ "$tries" -gt 300 ] || ! kill -0 "$node" 2>/dev/null; then
			echo "demo: node $name did not start" >&2
			exit 1
		fi
		sleep 0.1
	done
}

# ask NAME SQL: one value.
ask() {
	"$binary" sql --to "$work/$1" --format csv -c "$2" | tail -n 1
}

# until_is NAME SQL VALUE
until_is() {
	tries=0
	until [ "$(ask "$1" "$2")" = "$3" ]; do
		tries=$((tries + 1))
		if [ "$tries" -gt 300 ]; then
			echo "demo: waited for $3 of “$2” at node $1 and got $(ask "$1" "$2")" >&2
			exit 1
		fi
		sleep 0.1
	done
}

# queries NAME: the 22 queries, of which the last line is shown.
queries() {
	"$binary" tpch run --to "$work/$1" >"$work/$1.answers" || {
		cat "$work/$1.answers"
		exit 1
	}
	tail -n 1 "$work/$1.answers"
}

there="SELECT count(*) FROM csm.nodes WHERE state = 'online'"
missing="SELECT sum(incomplete)::BIGINT FROM csm.tables WHERE schema = 'public'"
extra="SELECT count(*) FROM csm.chunks WHERE schema = 'public' AND replicas > 2"
# Short enough that the demo does not wait long, and long enough for a busy machine.
times="--session-ttl 5s --repair-after 5s"
join="--etcd unix://$work/a/etcd/etcd.sock $times"

echo "demo: starting node a, which runs the cluster's etcd, and nodes b and c, which join"
start a --cluster-init $times
start b $join
start c $join
c=$node

echo "demo: generating the eight TPC-H tables at scale factor $factor, spread over the memory of all three, each chunk on two of them"
"$binary" tpch load --sf "$factor" --placement hash --replicas 2 --to "$work/a"
"$binary" cluster status --to "$work/b"

echo "demo: asking the 22 queries through node a, and checking the answers"
"$binary" tpch run --to "$work/a"
for name in b c; do
	echo "demo: the same through node $name"
	queries "$name"
done
"$binary" sql --to "$work/c" -c "SELECT count(*) FILTER (fragments > 0) AS queries_split, sum(fragments)::BIGINT AS fragments, sum(bytes_local)::BIGINT AS bytes_read_here, sum(bytes_remote)::BIGINT AS bytes_read_elsewhere FROM csm.queries"

echo "demo: once more through node a; node c is killed in the middle"
: >"$work/killed.answers"
"$binary" tpch run --to "$work/a" >"$work/killed.answers" &
run=$!
until grep -q '^Q05' "$work/killed.answers"; do
	kill -0 "$run" 2>/dev/null || break
	sleep 0.01
done
kill -9 "$c"
nodes=${nodes% *}
wait "$c" 2>/dev/null || true
wait "$run" || {
	cat "$work/killed.answers"
	exit 1
}
tail -n 1 "$work/killed.answers"

until_is b "$there" 2
echo "demo: node c is out of the cluster; its part of every table is read from the other replicas"
queries b
until_is a "$missing" 0
echo "demo: the replicas of node c are rebuilt on the others"
queries a

echo "demo: starting node c again"
start c $join
until_is b "$there" 3
until_is b "$extra" 0
echo "demo: it has its part of every table as before, and what stood in for it was let go"
"$binary" cluster status --to "$work/c"
queries c
echo ok
