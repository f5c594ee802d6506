package enginetest_test

import (
	"flag"
	"os"
	"strconv"
	"testing"

	_ "pgregory.net/rapid" // whose flag it is
)

// TestMain has rapid make 30 of its usual 100 attempts, each of which is a conversation with several engines; CSMSQL_EFFORT multiplies.
func TestMain(m *testing.M) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "rapid.checks" })
	if !given {
		effort, _ := strconv.Atoi(os.Getenv("CSMSQL_EFFORT"))
		if err := flag.Set("rapid.checks", strconv.Itoa(30*max(effort, 1))); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}
