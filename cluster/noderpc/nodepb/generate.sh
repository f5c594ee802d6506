#!/bin/sh
# Makes the .pb.go files from the .proto files. Needs protoc; the plugins are built here, so that everybody has
# the same ones: the first has the version of the protobuf module in go.mod, the second is pinned.
set -eu
cd "$(dirname "$0")/../../.." # the module's root: the file's name from there is its name in the process-wide registry
plugins=$(mktemp -d)
trap 'rm -rf "$plugins"' EXIT
go build -o "$plugins/protoc-gen-go" google.golang.org/protobuf/cmd/protoc-gen-go
GOBIN="$plugins" go install google.golang.org/grpc/cmd/protoc-gen-go-grpc@v1.6.2
PATH="$plugins:$PATH" protoc --go_out=. --go_opt=paths=source_relative \
	--go-grpc_out=. --go-grpc_opt=paths=source_relative cluster/noderpc/nodepb/node.proto cluster/noderpc/nodepb/cluster.proto \
	cluster/noderpc/nodepb/administration.proto
