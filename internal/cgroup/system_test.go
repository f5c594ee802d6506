package cgroup_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/internal/cgroup"
)

// machine is a tree of files that looks like a machine's, so that both versions are tested on each.
type machine struct {
	t       *testing.T
	root    string
	files   map[string]string // of a group of which the memory controller is on
	without []string          // groups in which it is off: what is made below them has no files of it
}

func newMachine(t *testing.T, mounts, own string, files map[string]string, without ...string) *machine {
	m := &machine{t: t, root: t.TempDir(), files: files, without: without}
	m.put("proc/self/mounts", mounts)
	m.put("proc/self/cgroup", own)
	return m
}

func (m *machine) put(path, text string) {
	path = filepath.Join(m.root, path)
	require.NoError(m.t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(m.t, os.WriteFile(path, []byte(text), 0o644))
}

func (m *machine) read(path string) string {
	text, err := os.ReadFile(filepath.Join(m.root, path))
	require.NoError(m.t, err)
	return string(text)
}

// mkdir is what the kernel does.
func (m *machine) mkdir(path string, mode fs.FileMode) error {
	if err := os.Mkdir(path, mode); err != nil {
		return err
	}
	relative, err := filepath.Rel(m.root, path)
	require.NoError(m.t, err)
	for _, group := range m.without {
		if filepath.Dir(relative) == group {
			return nil
		}
	}
	for name, text := range m.files {
		m.put(filepath.Join(relative, name), text)
	}
	return nil
}

func (m *machine) make(bytes int64) (*cgroup.Group, error) {
	return cgroup.System{Root: m.root, Mkdir: m.mkdir}.Make("g", bytes)
}

// made are the groups that were made, with what is in them.
func (m *machine) made() (list []string) {
	require.NoError(m.t, filepath.WalkDir(m.root, func(path string, d fs.DirEntry, err error) error {
		if relative, _ := filepath.Rel(m.root, path); err == nil && d.IsDir() && strings.HasPrefix(d.Name(), "g-") {
			list = append(list, relative)
		}
		return err
	}))
	return list
}

const (
	unified = "proc /proc proc rw 0 0\ncgroup2 /sys/fs/cgroup cgroup2 rw,nsdelegate 0 0\n"
	stat2   = "anon 1000\nfile 5000\nkernel 300\nkernel_stack 100\npagetables 50\nsock 7\nshmem 2000\n"
)

func files2() map[string]string {
	return map[string]string{
		"memory.max": "max\n", "memory.swap.max": "max\n", "memory.current": "9000\n", "memory.peak": "9500\n", "cgroup.procs": "",
		"memory.events": "low 0\nhigh 0\nmax 4\noom 3\noom_kill 2\noom_group_kill 0\n", "memory.stat": stat2,
	}
}

// Version 2: limits, without swap, and what the kernel says.
func TestVersion2(t *testing.T) {
	m := newMachine(t, unified, "0::/user.slice/one\n", files2())
	m.put("sys/fs/cgroup/cgroup.controllers", "cpu memory pids\n")
	m.put("sys/fs/cgroup/user.slice/one/cgroup.procs", "")
	g, err := m.make(64 << 20)
	require.NoError(t, err)
	require.Len(t, m.made(), 1)
	at := m.made()[0]
	require.Equal(t, "sys/fs/cgroup/user.slice/one", filepath.Dir(at), "below this process' own")
	require.Equal(t, "67108864", m.read(at+"/memory.max"))
	require.Equal(t, "0", m.read(at+"/memory.swap.max"))
	usage, err := g.Usage()
	require.NoError(t, err)
	require.Equal(t, cgroup.Usage{Anonymous: 1000, Shared: 2000, Kernel: 307, File: 3000}, usage)
	require.EqualValues(t, 3307, usage.Held())
	kills, err := g.Kills()
	require.NoError(t, err)
	require.EqualValues(t, 2, kills, "and not oom, nor oom_group_kill")
	peak, err := g.Peak()
	require.NoError(t, err)
	require.EqualValues(t, 9500, peak)
	c := exec.Command("/bin/true")
	g.Confine(c)
	require.NoError(t, c.Run())
	require.NotEmpty(t, m.read(at+"/cgroup.procs"), "the process went into it")
}

// Where the own group has no memory controller to hand on, the nearest above it that has is taken; nothing is left behind.
func TestVersion2TakesAncestor(t *testing.T) {
	m := newMachine(t, unified, "0::/user.slice/one\n", files2(), "sys/fs/cgroup/user.slice/one", "sys/fs/cgroup/user.slice")
	m.put("sys/fs/cgroup/cgroup.controllers", "memory\n")
	m.put("sys/fs/cgroup/user.slice/one/cgroup.procs", "")
	_, err := m.make(1 << 20)
	require.NoError(t, err)
	require.Len(t, m.made(), 1)
	require.Equal(t, "sys/fs/cgroup", filepath.Dir(m.made()[0]))

	m.without = append(m.without, "sys/fs/cgroup")
	require.NoError(t, os.RemoveAll(filepath.Join(m.root, m.made()[0])))
	_, err = m.make(1 << 20)
	require.ErrorIs(t, err, cgroup.ErrUnavailable)
	require.Empty(t, m.made())
}

// Older kernels do not add up the kernel's memory, and have no peak; without swap there is no file for it.
func TestVersion2OfOlderKernels(t *testing.T) {
	files := files2()
	files["memory.stat"] = "anon 1000\nfile 0\nkernel_stack 100\npagetables 50\npercpu 3\nsock 7\nshmem 0\nslab 40\n"
	delete(files, "memory.peak")
	delete(files, "memory.swap.max")
	m := newMachine(t, unified, "0::/\n", files)
	m.put("sys/fs/cgroup/cgroup.controllers", "memory\n")
	g, err := m.make(1 << 20)
	require.NoError(t, err)
	usage, err := g.Usage()
	require.NoError(t, err)
	require.EqualValues(t, 200, usage.Kernel)
	peak, err := g.Peak()
	require.NoError(t, err)
	require.Zero(t, peak)
	require.NoFileExists(t, filepath.Join(m.root, m.made()[0], "memory.swap.max"))
}

// Version 1, and a machine that has both: memory is where its controller is.
func TestVersion1(t *testing.T) {
	const both = "cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\ncgroup /sys/fs/cgroup/cpu cgroup rw,cpu,cpuacct 0 0\ncgroup /sys/fs/cgroup/memory cgroup rw,memory 0 0\n"
	m := newMachine(t, both, "7:memory:/a\n3:cpu,cpuacct:/b\n0::/c\n", map[string]string{
		"memory.limit_in_bytes": "9", "memory.memsw.limit_in_bytes": "9", "memory.kmem.usage_in_bytes": "30\n",
		"memory.stat": "cache 1\nrss 1\ntotal_cache 500\ntotal_rss 1000\ntotal_shmem 200\n", "memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 5\n",
	})
	m.put("sys/fs/cgroup/unified/cgroup.controllers", "\n")
	m.put("sys/fs/cgroup/memory/a/cgroup.procs", "")
	g, err := m.make(1 << 20)
	require.NoError(t, err)
	at := m.made()[0]
	require.Equal(t, "sys/fs/cgroup/memory/a", filepath.Dir(at))
	require.Equal(t, "1048576", m.read(at+"/memory.memsw.limit_in_bytes"))
	usage, err := g.Usage()
	require.NoError(t, err)
	require.Equal(t, cgroup.Usage{Anonymous: 1000, Shared: 200, Kernel: 30, File: 300}, usage)
	kills, err := g.Kills()
	require.NoError(t, err)
	require.EqualValues(t, 5, kills)
}

// Without a controller of memory there is none; a controller whose name begins like it is another one.
func TestNoMemoryController(t *testing.T) {
	for _, controllers := range []string{"cpu pids\n", "memory_other hugetlb\n", ""} {
		m := newMachine(t, unified, "0::/\n", files2())
		m.put("sys/fs/cgroup/cgroup.controllers", controllers)
		_, err := m.make(1 << 20)
		require.ErrorIs(t, err, cgroup.ErrUnavailable)
	}
	_, err := newMachine(t, "proc /proc proc rw 0 0\n", "0::/\n", nil).make(1 << 20)
	require.ErrorIs(t, err, cgroup.ErrUnavailable)
}
