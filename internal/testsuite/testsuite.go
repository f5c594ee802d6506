// Package testsuite is what tests of several packages share about how they run: how hard they try, and the program that
// some of them start.
package testsuite

import (
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// EffortVariable is the environment variable that multiplies what tests try at random (docs/testing.md).
const EffortVariable = "CSMSQL_EFFORT"

// Effort is the multiplier, at least 1.
func Effort() int {
	n, _ := strconv.Atoi(os.Getenv(EffortVariable)) // unset is 0
	return max(n, 1)
}

// rapidChecks is how many attempts a property gets, of rapid's usual 100: each is a conversation with one engine or
// several.
const rapidChecks = 30

// SetFlags sets what rapid, if the tests import it, and the testing package do by default, unless the command line
// says: a TestMain calls it. parallel is how many of the package's tests run at once, 0 for as many as there are
// processors.
func SetFlags(parallel int) {
	flag.Parse()
	given := map[string]bool{}
	flag.Visit(func(f *flag.Flag) { given[f.Name] = true })
	set := func(name string, value int) {
		if given[name] || flag.Lookup(name) == nil {
			return
		}
		if err := flag.Set(name, strconv.Itoa(value)); err != nil {
			panic(err)
		}
	}
	set("rapid.checks", rapidChecks*Effort())
	if parallel > 0 {
		set("test.parallel", parallel)
	}
}

// SeedVariable is the environment variable that says what is drawn at random.
const SeedVariable = "CSMSQL_SEED"

// Vary sets an environment variable that is not set to one of some values, for this process and those that it starts:
// tests hold for all of them. A TestMain calls it. What was drawn follows from the seed, if there is one, and is
// printed: go test shows it where a test fails.
func Vary(variable string, values ...string) {
	if os.Getenv(variable) != "" {
		return
	}
	at := rand.IntN(len(values))
	if seed, err := strconv.ParseUint(os.Getenv(SeedVariable), 10, 64); err == nil {
		at = rand.New(rand.NewPCG(seed, 0)).IntN(len(values))
	}
	if err := os.Setenv(variable, values[at]); err != nil {
		panic(err)
	}
	fmt.Printf("%s=%s\n", variable, values[at])
}

// BuildProgram makes a copy of the csmsql program at path, which must not exist. The go command keeps what it runs,
// unlike what it builds: so the program, which takes ten seconds to link, is linked once for all packages and all runs
// of their tests.
func BuildProgram(path string) error {
	if err := LookAtSources(); err != nil {
		return fmt.Errorf("build the program: %w", err)
	}
	if out, err := exec.Command("go", "run", "-exec", "cp", "github.com/csmsql/csmsql/cmd/csmsql", path).CombinedOutput(); err != nil {
		return fmt.Errorf("build the program: %w\n%s", err, out)
	}
	return nil
}

// LookAtSources reads the module's directories. The go command keeps the result of a test with what was opened of its
// module while M.Run ran, and does not know that the program is made of other packages: it would report a result of
// before they were changed.
func LookAtSources() error {
	root, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return err
	}
	return filepath.WalkDir(strings.TrimSpace(string(root)), func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && (d.Name() == "bin" || strings.HasPrefix(d.Name(), ".")) {
			return fs.SkipDir
		}
		return err
	})
}

// Memory is what a node is given for queries that has so many workers, as --memory takes it: each has an equal part.
// Without any it is 512 MiB.
func Memory(workers string) string {
	count, _ := strconv.Atoi(workers)
	return strconv.Itoa(max(2, count+1)*256) + "MiB"
}
