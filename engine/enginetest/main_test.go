package enginetest_test

import (
	"os"
	"testing"

	_ "pgregory.net/rapid" // whose flag is set

	"github.com/csmsql/csmsql/catalog/chunk"
	"github.com/csmsql/csmsql/engine"
	"github.com/csmsql/csmsql/internal/testsuite"
)

// workerVariable makes this binary a worker of an engine in a test.
const workerVariable = "CSMSQL_TEST_IS_WORKER"

func TestMain(m *testing.M) {
	if os.Getenv(workerVariable) != "" {
		if err := engine.ServeWorker(); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	testsuite.Vary(chunk.ExtentsVariable, "4096", "4096", "65536", "0") // chunks of many extents, of some, of as few as can be
	testsuite.SetFlags(0)
	os.Exit(m.Run())
}
