package mutation

import (
	"errors"
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

// Tests that take patience times as long as the baseline, and shortest beyond that, are taken not to end.
const (
	patience = 10
	shortest = 10 * time.Second
)

// Judge runs each mutation of a table, whose tests are all in the package of programs, after the baseline (MU2), and
// calls tell with each result. No run may take longer than the limit. The error names tests that fail, or do not end,
// without a mutation: their mutations have no result.
func Judge(programs *Programs, list []Mutation, limit time.Duration, tell func(Result)) error {
	limits := map[Tests]time.Duration{}
	var failed []error
	for _, m := range list {
		if _, known := limits[m.Tests]; !known {
			took, err := baseline(programs, m.Tests, limit)
			limits[m.Tests] = min(limit, patience*took+shortest)
			if err != nil {
				failed, limits[m.Tests] = append(failed, err), 0
			}
		}
		if limits[m.Tests] == 0 {
			continue
		}
		begin := time.Now()
		out, err := programs.Run(m.Name, m.Tests.Pattern, limits[m.Tests], m.Tests.environment()...)
		r := Result{Mutation: m, Verdict: verdict(m, err), By: by(out, err), Time: time.Since(begin), Output: out}
		if strings.Contains(out, timedOut) { // the mutation's doing, or that of what else the machine does?
			if _, err := baseline(programs, m.Tests, limits[m.Tests]); err != nil {
				failed = append(failed, fmt.Errorf("%s did not end, and neither is it well without: %w", m.Name, err))
				continue
			}
		}
		tell(r)
	}
	return errors.Join(failed...)
}

// baseline runs tests with no mutation on.
func baseline(programs *Programs, tests Tests, limit time.Duration) (took time.Duration, err error) {
	begin := time.Now()
	out, err := programs.Run("", tests.Pattern, limit, tests.environment()...)
	switch {
	case err != nil:
		return 0, fmt.Errorf("%s is red without a mutation: %w\n%s", tests.Pattern, err, out)
	case !strings.Contains(out, "--- PASS"):
		return 0, fmt.Errorf("%s -run %q finds no test that runs:\n%s", tests.Package, tests.Pattern, out)
	}
	return time.Since(begin), nil
}

func (t Tests) environment() []string {
	if t.Environment == "" {
		return nil
	}
	return []string{t.Environment}
}

// timedOut is what a test binary says that did not end within its limit.
const timedOut = "panic: test timed out"

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
	if strings.Contains(out, timedOut) {
		name += " (did not end)"
	} else if strings.Contains(out, "panic: ") {
		name += " (panic)"
	}
	return name
}
