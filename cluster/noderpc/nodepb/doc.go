// Package nodepb is the wire format of package noderpc, generated from node.proto; only that package uses it.
package nodepb

//go:generate sh generate.sh
