// Package testfabric has the fabric of tests that run on any: the value of the environment variable CSMSQL_TEST_FABRIC,
// as memregion.ParseFabric reads it. Without it they run in shared memory.
package testfabric

import (
	"cmp"
	"os"

	"github.com/csmsql/csmsql/memregion"
)

// Variable is the variable's name.
const Variable = "CSMSQL_TEST_FABRIC"

// FromEnvironment returns the fabric. It panics on an unknown one, so that no test passes on another than was meant.
func FromEnvironment() memregion.FabricKind {
	text := cmp.Or(os.Getenv(Variable), string(memregion.FabricShm))
	if _, _, err := memregion.ParseFabric(text); err != nil {
		panic(Variable + ": " + err.Error())
	}
	return memregion.FabricKind(text)
}

// Coherent reports whether processes on the fabric see each other's stores by themselves.
func Coherent() bool {
	kind, _, err := memregion.ParseFabric(string(FromEnvironment()))
	return err == nil && kind.HardwareCoherent()
}
