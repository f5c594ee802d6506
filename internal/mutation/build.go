package mutation

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Programs are the test binaries of one package with all of a table's mutations in them.
type Programs struct {
	folder string            // of the package, where its tests run
	of     map[string]string // a mutation's name → the binary that has it
	all    []string
	flags  []string // of all runs
}

// Build makes the test binaries of a package of the module at root. They are written to dir.
func Build(root, dir, pkg string, tags Tags, list []Mutation) (*Programs, error) {
	divided, err := batches(root, list)
	if err != nil {
		return nil, err
	}
	p := &Programs{folder: filepath.Join(root, pkg), of: map[string]string{}}
	for i, batch := range divided {
		to := filepath.Join(dir, strconv.Itoa(i))
		if err := os.MkdirAll(to, 0o700); err != nil {
			return nil, err
		}
		overlay, err := write(root, to, batch)
		if err != nil {
			return nil, err
		}
		program := filepath.Join(to, strings.NewReplacer("/", "_", ".", "").Replace(pkg)+".test")
		build := exec.Command("go", append(append([]string{"test"}, tags.flags()...), "-vet=off", "-overlay", overlay, "-c", "-o", program, pkg)...)
		build.Dir = root
		if out, err := build.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("build the tests of %s with %d mutations: %w\n%s", pkg, len(batch), err, out)
		}
		p.all = append(p.all, program)
		p.flags = flags(program)
		for _, e := range batch {
			p.of[e.Name] = program
		}
	}
	return p, nil
}

// flags keep rapid from writing a failure that a mutation causes into the package's folder, from which runs without the
// mutation would read it. And rapid tries more often than usual: a mutation that is found by luck would survive now and
// then.
func flags(program string) []string {
	const quiet, often = "-rapid.nofailfile", "-rapid.checks=300"
	help, _ := exec.Command(program, "-help").CombinedOutput() // its exit code is that of wrong flags
	if strings.Contains(string(help), quiet) {
		return []string{quiet, often}
	}
	return nil
}

// write puts a batch's files into dir, and returns the path of the overlay that names them.
func write(root, dir string, batch []edit) (string, error) {
	files, err := apply(root, batch)
	if err != nil {
		return "", err
	}
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	for file, text := range files {
		to := filepath.Join(dir, strings.ReplaceAll(file, "/", "_"))
		if err := os.WriteFile(to, []byte(text), 0o600); err != nil {
			return "", err
		}
		overlay.Replace[filepath.Join(root, file)] = to
	}
	text, err := json.Marshal(overlay)
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "overlay.json")
	return path, os.WriteFile(path, text, 0o600)
}

// Run runs some tests with one mutation on, in the package's folder; environment goes on top of this process' own. No
// name is the baseline: no mutation is on, in any of the binaries. The error is that a test failed, or did not end
// within the limit.
func (p *Programs) Run(name, pattern string, limit time.Duration, environment ...string) (output string, err error) {
	programs := p.all
	if name != "" {
		if programs = []string{p.of[name]}; p.of[name] == "" {
			return "", fmt.Errorf("there is no mutation %q", name)
		}
	}
	for _, program := range programs {
		run := exec.Command(program, "-test.run", pattern, "-test.v", "-test.failfast", "-test.timeout", limit.String())
		run.Args = append(run.Args, p.flags...)
		run.Dir = p.folder
		run.Env = append(append(os.Environ(), environment...), Variable+"="+name)
		out, err := run.CombinedOutput()
		output += string(out)
		if err != nil {
			return output, err
		}
	}
	return output, nil
}
