package mutation

import (
	"cmp"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Mutation is one fault.
type Mutation struct {
	// Name is unique in its table.
	Name string
	// File is where it is, from the module's root.
	File string
	// Old stands there once.
	Old string
	// New takes its place. ON in it reports whether this mutation is the one that runs, and PICK(ON, fault, right) is
	// one of two values. Empty: Old, which is whole statements, is left out.
	New string
	// Breaks is the invariant that does not hold then, as doc.go of its package has it.
	Breaks string
	// Tests must see it.
	Tests Tests
	// Explained is why no test can; empty for all others.
	Explained string
}

// Tests are some of one package.
type Tests struct {
	Package string // from the module's root, as ./coherence
	Pattern string // as go test's -run
	// Tags build them; empty: with the checks of invariants.
	Tags Tags
	// Environment is NAME=value, which they run with; empty: nothing special.
	Environment string
}

// Tags say how a program is built.
type Tags string

const (
	// Checked is as all tests are built.
	Checked Tags = ""
	// Unchecked is as the program is built for use. Builds with checks poison freed memory, which therefore hardly ever
	// still has its former bytes.
	Unchecked Tags = "unchecked"
)

func (t Tags) flags() []string {
	if t == Unchecked {
		return nil
	}
	return []string{"-tags", "invariants"}
}

// Check reads the files under root and returns an error for each mutation that is not applicable (MU1), that says too
// little, or whose file no longer parses with it. It builds nothing.
func Check(root string, list []Mutation) error {
	divided, err := batches(root, list)
	if err != nil {
		return err
	}
	var failed []error
	for _, batch := range divided {
		files, err := apply(root, batch)
		failed = append(failed, err)
		for name, text := range files {
			_, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
			failed = append(failed, err)
		}
	}
	return errors.Join(failed...)
}

// edit is a mutation with its place in the file.
type edit struct {
	Mutation
	number   int // in the table
	from, to int
}

// batches divides a table so that no two edits of a batch overlap.
func batches(root string, list []Mutation) ([][]edit, error) {
	var failed []error
	var all [][]edit
	texts, names := map[string]string{}, map[string]bool{}
	for i, m := range list {
		e, err := place(root, texts, i, m)
		if names[m.Name] {
			err = errors.Join(err, fmt.Errorf("mutation %q: there are two of this name", m.Name))
		}
		names[m.Name] = true
		if err != nil {
			failed = append(failed, err)
			continue
		}
		at := slices.IndexFunc(all, func(batch []edit) bool { return !slices.ContainsFunc(batch, e.overlaps) })
		if at < 0 {
			at, all = len(all), append(all, nil)
		}
		all[at] = append(all[at], e)
	}
	return all, errors.Join(failed...)
}

func (e edit) overlaps(o edit) bool { return e.File == o.File && e.from < o.to && o.from < e.to }

// place finds where a mutation is.
func place(root string, texts map[string]string, number int, m Mutation) (edit, error) {
	e := edit{Mutation: m, number: number}
	wrong := func(format string, args ...any) (edit, error) {
		return e, fmt.Errorf("mutation %q in %s: %s", m.Name, m.File, fmt.Sprintf(format, args...))
	}
	switch {
	case m.Name == "" || m.File == "" || m.Old == "" || m.Breaks == "" || m.Tests.Package == "" || m.Tests.Pattern == "":
		return wrong("name, file, old text, what it breaks and its tests must all be said")
	case m.New != "" && !on.MatchString(m.New):
		return wrong("its new text never asks whether it is ON")
	}
	text, known := texts[m.File]
	if !known {
		read, err := os.ReadFile(filepath.Join(root, m.File))
		if err != nil {
			return wrong("%v", err)
		}
		text = string(read)
		texts[m.File] = text
	}
	if n := strings.Count(text, m.Old); n != 1 {
		return wrong("the text that it replaces stands there %d times: bring the table up to the source", n)
	}
	e.from = strings.Index(text, m.Old)
	e.to = e.from + len(m.Old)
	return e, nil
}

var (
	on      = regexp.MustCompile(`\bON\b`)
	pick    = regexp.MustCompile(`\bPICK\b`)
	heading = regexp.MustCompile(`(?m)^package \w+\n`)
)

// apply returns the changed files of a batch, by name, and the package that says which mutation is on.
func apply(root string, batch []edit) (files map[string]string, err error) {
	byFile := map[string][]edit{}
	for _, e := range batch {
		byFile[e.File] = append(byFile[e.File], e)
	}
	files = map[string]string{switchFile: switchText(batch)}
	for file, edits := range byFile {
		read, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			return nil, err
		}
		slices.SortFunc(edits, func(a, b edit) int { return cmp.Compare(b.from, a.from) })
		text := string(read)
		for _, e := range edits { // from the end, so that places stay
			text = text[:e.from] + e.text() + text[e.to:]
		}
		at := heading.FindStringIndex(text)
		if at == nil {
			return nil, fmt.Errorf("%s has no package clause", file)
		}
		files[file] = text[:at[1]] + "\nimport \"" + switchImport + "\"\n" + text[at[1]:]
	}
	return files, nil
}

// text is what stands in the file instead of Old.
func (e edit) text() string {
	fault := e.New
	if fault == "" {
		fault = "if !ON {\n" + e.Old + "\n}\n"
	}
	fault = pick.ReplaceAllString(fault, "mutant.Pick")
	return on.ReplaceAllString(fault, fmt.Sprintf("mutant.M%d", e.number))
}

const (
	module       = "github.com/csmsql/csmsql/"
	switchFile   = "internal/mutant/mutant.go" // is in no tree, only in overlays
	switchImport = module + "internal/mutant"
	// Variable names the mutation that is on, in the environment of a program.
	Variable = "CSMSQL_MUTANT"
)

func switchText(batch []edit) string {
	var b strings.Builder
	fmt.Fprintf(&b, "// Package mutant says which mutation is on.\npackage mutant\n\nimport \"os\"\n\nvar name = os.Getenv(%q)\n\n", Variable)
	for _, e := range batch {
		fmt.Fprintf(&b, "var M%d = name == %q\n", e.number, e.Name)
	}
	b.WriteString("\nfunc Pick[T any](on bool, fault, right T) T {\n\tif on {\n\t\treturn fault\n\t}\n\treturn right\n}\n")
	return b.String()
}
