package main_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// terminal is a pseudo-terminal with a user in front of it.
type terminal struct {
	t      *testing.T
	master *os.File
	mu     sync.Mutex
	screen strings.Builder // guarded by mu
	ended  chan struct{}   // the other side is gone
}

// openTerminal gives both ends of a terminal of 40 lines by 120 columns.
func openTerminal(t *testing.T) (*terminal, *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudo-terminals here: %v", err)
	}
	require.NoError(t, unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0))
	number, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	require.NoError(t, err)
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	require.NoError(t, unix.IoctlSetWinsize(int(slave.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 40, Col: 120}))
	term := &terminal{t: t, master: master, ended: make(chan struct{})}
	go term.watch()
	return term, slave
}

func (x *terminal) watch() {
	defer close(x.ended)
	buffer := make([]byte, 4096)
	for {
		n, err := x.master.Read(buffer)
		x.mu.Lock()
		x.screen.Write(buffer[:n])
		x.mu.Unlock()
		if err != nil {
			return // EIO: the other end is closed
		}
	}
}

// see waits until a text appears that was not there when the last one was seen.
func (x *terminal) see(text string) {
	x.t.Helper()
	require.Eventually(x.t, func() bool {
		x.mu.Lock()
		defer x.mu.Unlock()
		all := x.screen.String()
		at := strings.Index(all, text)
		if at < 0 {
			return false
		}
		x.screen.Reset()
		x.screen.WriteString(all[at+len(text):])
		return true
	}, patience, 5*time.Millisecond, "%s does not appear", text)
}

func (x *terminal) write(keys string) {
	x.t.Helper()
	_, err := x.master.WriteString(keys)
	require.NoError(x.t, err)
}

// TestInteractive types what people type: a statement over two lines, a mistake, Ctrl-C in both its meanings, Ctrl-D.
func TestInteractive(t *testing.T) {
	n := shared.get(t)
	state := t.TempDir()
	x, slave := openTerminal(t)
	c := command(deadline(t), "sql", "--to", n.data)
	c.Env = append(c.Env, "TERM=xterm", "XDG_STATE_HOME="+state)
	c.Stdin, c.Stdout, c.Stderr = slave, slave, slave
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	require.NoError(t, c.Start())
	require.NoError(t, slave.Close())

	const prompt, more, interrupt, endOfFile = "csmsql=> ", "csmsql-> ", "\x03", "\x04"
	x.see(prompt)
	x.write("SELECT 40 + 2\r")
	x.see(more)
	x.write("AS answer;\r")
	x.see("answer \r\n")
	x.see("42\r\n(1 row)")
	x.see(prompt)
	x.write("SELECT nowhere;\r")
	x.see("LINE 1: SELECT nowhere\r\n               ^\r\n")
	x.see(prompt)
	x.write(`\d` + "\r")
	x.see("schema")
	x.see(prompt)
	x.write("SELECT forgotten")
	x.see("forgotten")
	x.write(interrupt)
	x.see(prompt)
	x.write(endless + ";\r")
	x.see("= -1;")
	waitForStatement(t, n)
	x.write(interrupt)
	x.see("canceling statement")
	x.see(prompt)
	x.write("SELECT 'still' || ' here' AS x;\r")
	x.see("still here")
	x.see(prompt)
	x.write(endOfFile)
	<-x.ended
	require.NoError(t, c.Wait())
	require.NoError(t, x.master.Close())
	history, err := os.ReadFile(filepath.Join(state, "csmsql", "history"))
	require.NoError(t, err)
	require.Contains(t, string(history), "SELECT 40 + 2 AS answer;\n")
}
