package faults_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/csmsql/csmsql/internal/faults"
)

// childVariable makes this test binary a process that reaches two points, over a trigger's directory.
const childVariable = "FAULTS_TEST_DIRECTORY"

func TestMain(m *testing.M) {
	if directory := os.Getenv(childVariable); directory != "" {
		beChild(directory)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func beChild(directory string) {
	t, err := faults.NewTrigger(directory)
	must(err)
	hook := t.Hook(must)
	began := time.Now()
	hook.At(faults.CommitBegin)
	hook.At(faults.CommitStored)
	hook.At(faults.CommitStored)
	fmt.Println(time.Since(began) >= delay)
}

const delay = 200 * time.Millisecond

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// stopped is the kernel's CLD_STOPPED.
const stopped = 5

// child runs to its end, or until it is stopped: then the test lets it go on.
func child(t *testing.T, directory string) (output string, state *os.ProcessState, paused bool) {
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), childVariable+"="+directory)
	var out strings.Builder
	c.Stdout, c.Stderr = &out, os.Stderr
	require.NoError(t, c.Start())
	for {
		var news unix.Siginfo
		err := unix.Waitid(unix.P_PID, c.Process.Pid, &news, unix.WEXITED|unix.WSTOPPED|unix.WNOWAIT, nil)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		require.NoError(t, err)
		if news.Code != stopped {
			break
		}
		paused = true
		require.NoError(t, unix.Waitid(unix.P_PID, c.Process.Pid, nil, unix.WSTOPPED, nil)) // takes the news away
		require.NoError(t, c.Process.Signal(syscall.SIGCONT))
	}
	_ = c.Wait() // how it ended is in its state
	return out.String(), c.ProcessState, paused
}

// FT3: what is armed happens once, at its point. The process that took it is known, and the points that were reached.
func TestTrigger(t *testing.T) {
	directory := t.TempDir()
	trigger, err := faults.NewTrigger(directory)
	require.NoError(t, err)
	for _, action := range faults.Actions() {
		require.NoError(t, trigger.Arm(faults.Order{Point: faults.CommitStored, Action: action, Delay: delay}))
		for _, taken := range []bool{true, false} {
			before, err := trigger.Taken()
			require.NoError(t, err)
			require.Equal(t, taken, before == 0)
			output, state, paused := child(t, directory)
			status := state.Sys().(syscall.WaitStatus)
			require.Equal(t, taken && action == faults.Kill, status.Signaled() && status.Signal() == syscall.SIGKILL, "%v", state)
			require.Equal(t, taken && action == faults.Pause, paused)
			if !status.Signaled() && action != faults.Pause {
				require.Equal(t, fmt.Sprintln(taken && action == faults.Delay), output)
			}
			pid, err := trigger.Taken()
			require.NoError(t, err)
			require.Equal(t, taken, pid == state.Pid())
		}
	}
	reached, err := trigger.Reached()
	require.NoError(t, err)
	require.Equal(t, []string{"commit:begin", "commit:stored"}, reached)
	require.NoError(t, trigger.Arm(faults.Order{Point: faults.CommitStored, Action: faults.Kill}))
	require.NoError(t, trigger.Disarm())
	_, state, _ := child(t, directory)
	require.True(t, state.Success())
}

// What is no order is refused, and a delay that is too long (FT4).
func TestOrdersThatMakeNoSense(t *testing.T) {
	trigger, err := faults.NewTrigger(t.TempDir())
	require.NoError(t, err)
	for message, o := range map[string]faults.Order{
		"is no order":  {Action: faults.Kill},
		"is no action": {Point: faults.CommitBegin, Action: "burn"},
		"at most":      {Point: faults.CommitBegin, Action: faults.Delay, Delay: faults.MaxDelay + time.Second},
	} {
		require.ErrorContains(t, trigger.Arm(o), message)
	}
	pid, err := trigger.Taken()
	require.NoError(t, err)
	require.Zero(t, pid)
}

// Without a hook nothing happens, and costs nothing.
func TestNoHook(t *testing.T) {
	var none faults.Hook
	require.Zero(t, testing.AllocsPerRun(10, func() { none.At(faults.CommitBegin) }))
}

// FT1: names are files' names, and say one thing; docs/testing.md lists them as they are.
func TestTable(t *testing.T) {
	name := regexp.MustCompile(`^[a-z]+:[a-z-]+$`)
	names := map[string]bool{}
	var lines []string
	for _, p := range faults.All() {
		require.Regexp(t, name, p.String())
		require.False(t, names[p.String()], p)
		names[p.String()] = true
		found, ok := faults.Named(p.String())
		require.True(t, ok)
		require.Equal(t, p, found)
		lines = append(lines, fmt.Sprintf("| `%v` | %s |", p, p.Place()))
	}
	text, err := os.ReadFile("../../docs/testing.md")
	require.NoError(t, err)
	var listed []string
	for line := range strings.Lines(string(text)) {
		if regexp.MustCompile("^\\| `[a-z]+:").MatchString(line) {
			listed = append(listed, strings.TrimSpace(line))
		}
	}
	require.Equal(t, lines, listed, "docs/testing.md lists the fault points as this package's table has them")
}
