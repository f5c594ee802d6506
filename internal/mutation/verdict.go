package mutation

import (
	"fmt"
	"regexp"
	"strings"
	"time"
)

// Verdict is what became of a mutation.
type Verdict uint8

const (
	// Caught: a test failed.
	Caught Verdict = iota
	// Survived: none did, and one ought to.
	Survived
	// Explained: none did, and the table says why.
	Explained
	// Refuted: the table says that none can, and one did.
	Refuted
)

func (v Verdict) String() string {
	return [...]string{"caught", "survived", "explained", "refuted"}[v]
}

// Result is the verdict on one mutation.
type Result struct {
	Mutation
	Verdict Verdict
	By      string // the test that failed
	Time    time.Duration
	Output  string
}

func (r Result) String() string {
	return fmt.Sprintf("%-10v %-50s %s %s", r.Verdict, r.Name, r.Time.Round(100*time.Millisecond), r.By)
}

// What takes so many times as long as the baseline, and longer than that, does not end any more.
const (
	patience = 10
	shortest = 10 * time.Second
)

// Judge runs each mutation of a table, whose tests are all in the package of programs, after the baseline (Q2), and tells of each result. No
// run may take longer than the limit.
func Judge(programs *Programs, list []Mutation, limit time.Duration, tell func(Result)) error {
	limits := map[Tests]time.Duration{}
	for _, m := range list {
		pattern := m.Tests.Pattern
		var environment []string
		if m.Tests.Environment != "" {
			environment = append(environment, m.Tests.Environment)
		}
		if limits[m.Tests] == 0 {
			begin := time.Now()
			out, err := programs.Run("", pattern, limit, environment...)
			if err != nil {
				return fmt.Errorf("%s is red without a mutation: %w\n%s", pattern, err, out)
			}
			if !strings.Contains(out, "--- PASS") {
				return fmt.Errorf("%s -run %q finds no test that runs:\n%s", m.Tests.Package, pattern, out)
			}
			limits[m.Tests] = min(limit, patience*time.Since(begin)+shortest)
		}
		begin := time.Now()
		out, err := programs.Run(m.Name, pattern, limits[m.Tests], environment...)
		tell(Result{Mutation: m, Verdict: verdict(m, err), By: by(out, err), Time: time.Since(begin), Output: out})
	}
	return nil
}

func verdict(m Mutation, err error) Verdict {
	switch {
	case err != nil && m.Explained != "":
		return Refuted
	case err != nil:
		return Caught
	case m.Explained != "":
		return Explained
	}
	return Survived
}

var failedTest = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)

// by is the first test that failed; of subtests their name.
func by(out string, err error) string {
	if err == nil {
		return ""
	}
	name := "no test: " + err.Error()
	for _, found := range failedTest.FindAllStringSubmatch(out, -1) {
		if name = found[1]; strings.Contains(name, "/") {
			break
		}
	}
	if strings.Contains(out, "panic: test timed out") {
		name += " (did not end)"
	} else if strings.Contains(out, "panic: ") {
		name += " (panic)"
	}
	return name
}
