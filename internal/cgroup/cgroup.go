package cgroup

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// ErrUnavailable is why there is no group: this machine has no memory controller for this user.
var ErrUnavailable = errors.New("cgroup: this process can make no control group of memory (it takes root, or a delegated group)")

// Variable is the environment variable that says what tests do without a group: if it is Required they fail, otherwise
// they are skipped and say so.
const Variable, Required = "CSMSQL_CGROUPS", "required"

// Group is a control group. Its methods are for one goroutine each; those that read are safe for several.
type Group struct {
	directory string
	files     names
}

// names are the files of one version.
type names struct{ limit, swap, usage, peak, kills, killsKey, anonymous, shared, file string }

var (
	version1 = names{
		limit: "memory.limit_in_bytes", swap: "memory.memsw.limit_in_bytes", usage: "memory.usage_in_bytes", peak: "memory.max_usage_in_bytes",
		kills: "memory.oom_control", killsKey: "oom_kill", anonymous: "total_rss", shared: "total_shmem", file: "total_cache",
	}
	version2 = names{
		limit: "memory.max", swap: "memory.swap.max", usage: "memory.current", peak: "memory.peak",
		kills: "memory.events", killsKey: "oom_kill", anonymous: "anon", shared: "shmem", file: "file",
	}
)

// Make makes a group whose processes may have so many bytes. Its name is unique among those of this process' group.
func Make(name string, bytes int64) (*Group, error) {
	return System{Root: "/", Mkdir: os.Mkdir}.Make(name, bytes)
}

// System is where groups are made: this machine, or a test's substitute.
type System struct {
	// Root is the directory in which proc/self/mounts and proc/self/cgroup are, and the hierarchies that they name.
	Root string
	// Mkdir makes a group's directory, with the kernel's files in it.
	Mkdir func(path string, mode fs.FileMode) error
}

// Make is Make there.
func (s System) Make(name string, bytes int64) (*Group, error) {
	parents, files, err := parents(s.Root)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	tried := ErrUnavailable
	for _, parent := range parents {
		g := &Group{filepath.Join(parent, fmt.Sprintf("%s-%d", name, os.Getpid())), files}
		if err := s.Mkdir(g.directory, 0o755); err != nil {
			tried = fmt.Errorf("%w: %w", tried, err)
			continue
		}
		if err = g.setLimit(bytes); err == nil {
			return g, nil
		}
		tried = fmt.Errorf("%w: %w", tried, errors.Join(err, g.Close()))
	}
	return nil, tried
}

func (g *Group) setLimit(bytes int64) error {
	if err := g.write(g.files.limit, strconv.FormatInt(bytes, 10)); err != nil {
		return err
	}
	swap := "0"
	if g.files == version1 {
		swap = strconv.FormatInt(bytes, 10) // of memory and swap together
	}
	if err := g.write(g.files.swap, swap); err != nil && !errors.Is(err, fs.ErrNotExist) { // without swap there is no such file
		return err
	}
	return nil
}

// parents are directories below which a group may be made, the best first.
func parents(root string) ([]string, names, error) {
	mount, version, err := memoryMount(root)
	if err != nil {
		return nil, names{}, err
	}
	own, err := ownGroup(root, version)
	if err != nil {
		return nil, names{}, err
	}
	if version == 1 {
		return []string{filepath.Join(mount, own), mount}, version1, nil
	}
	var list []string
	for at := own; ; at = filepath.Dir(at) {
		list = append(list, filepath.Join(mount, at))
		if at == "/" || at == "." {
			return list, version2, nil
		}
	}
}

// memoryMount finds where the memory controller's groups are.
func memoryMount(root string) (directory string, version int, err error) {
	mounts, err := os.Open(filepath.Join(root, "proc/self/mounts"))
	if err != nil {
		return "", 0, err
	}
	defer mounts.Close()
	lines := bufio.NewScanner(mounts)
	for lines.Scan() {
		f := strings.Fields(lines.Text())
		if len(f) < 4 {
			continue
		}
		if f[2] == "cgroup" && strings.Contains(","+f[3]+",", ",memory,") {
			return filepath.Join(root, f[1]), 1, nil
		}
		if f[2] != "cgroup2" {
			continue
		}
		at := filepath.Join(root, f[1])
		if controllers, _ := os.ReadFile(filepath.Join(at, "cgroup.controllers")); slices.Contains(strings.Fields(string(controllers)), "memory") {
			directory, version = at, 2
		}
	}
	if version == 0 {
		return "", 0, errors.New("the memory controller is mounted nowhere")
	}
	return directory, version, lines.Err()
}

// ownGroup is that of this process, by /proc/self/cgroup: lines of hierarchy, controllers and group.
func ownGroup(root string, version int) (string, error) {
	text, err := os.ReadFile(filepath.Join(root, "proc/self/cgroup"))
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(text)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) == 3 && (version == 2 && parts[1] == "" || version == 1 && strings.Contains(","+parts[1]+",", ",memory,")) {
			return parts[2], nil
		}
	}
	return "", errors.New("/proc/self/cgroup does not say which group this is")
}

// Confine has a command that was not started yet run in the group from its beginning.
func (g *Group) Confine(c *exec.Cmd) {
	script := `echo $$ > "$0" && exec "$@"`
	c.Args = append([]string{"/bin/sh", "-c", script, filepath.Join(g.directory, "cgroup.procs"), c.Path}, c.Args[1:]...)
	c.Path = "/bin/sh"
}

// Usage is what the group's processes have, in bytes.
type Usage struct{ Anonymous, Shared, Kernel, File int64 }

// Held is what the kernel cannot take back.
func (u Usage) Held() int64 { return u.Anonymous + u.Shared + u.Kernel }

// Usage reads it.
func (g *Group) Usage() (u Usage, err error) {
	values, err := g.keyed("memory.stat")
	if err != nil {
		return u, err
	}
	u = Usage{Anonymous: values[g.files.anonymous], Shared: values[g.files.shared], File: values[g.files.file] - values[g.files.shared]}
	if g.files == version2 {
		kernel, known := values["kernel"]
		if !known { // before Linux 5.18 it is not added up
			kernel = values["kernel_stack"] + values["pagetables"] + values["percpu"] + values["slab"]
		}
		u.Kernel = kernel + values["sock"]
		return u, nil
	}
	if u.Kernel, err = g.number("memory.kmem.usage_in_bytes"); errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return u, err
}

// Peak is the most that was ever charged to the group, files' pages included; 0: this kernel does not say (version 2
// before Linux 5.19).
func (g *Group) Peak() (int64, error) {
	bytes, err := g.number(g.files.peak)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	return bytes, err
}

// Kills is how many of its processes the kernel killed because they wanted more.
func (g *Group) Kills() (int64, error) {
	values, err := g.keyed(g.files.kills)
	return values[g.files.killsKey], err
}

// Close removes the group, whose processes have ended.
func (g *Group) Close() error { return os.Remove(g.directory) }

// write does not make the file: where the kernel has none, it refuses that with another error than that there is none.
func (g *Group) write(file, value string) error {
	f, err := os.OpenFile(filepath.Join(g.directory, file), os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(value)
	return errors.Join(err, f.Close())
}

func (g *Group) number(file string) (int64, error) {
	text, err := os.ReadFile(filepath.Join(g.directory, file))
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
}

// keyed reads a file of lines of a key and a number.
func (g *Group) keyed(file string) (map[string]int64, error) {
	text, err := os.ReadFile(filepath.Join(g.directory, file))
	if err != nil {
		return nil, err
	}
	values := map[string]int64{}
	for line := range strings.Lines(string(text)) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			values[key], _ = strconv.ParseInt(value, 10, 64)
		}
	}
	return values, nil
}
