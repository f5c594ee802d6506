package enginetest_test

import (
	"os"
	"testing"

	_ "pgregory.net/rapid" // whose flag is set

	"github.com/csmsql/csmsql/internal/testsuite"
)

func TestMain(m *testing.M) {
	testsuite.SetFlags(0)
	os.Exit(m.Run())
}
