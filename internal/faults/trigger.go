package faults

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Action is what happens to a process at a point.
type Action string

// The actions.
const (
	// Kill is SIGKILL: no deferred function, no flush.
	Kill Action = "kill"
	// Pause is SIGSTOP: the test that armed it lets the process go on with SIGCONT.
	Pause Action = "pause"
	// Delay holds up the goroutine that reached the point, and no other.
	Delay Action = "delay"
)

// Actions lists all.
func Actions() []Action { return []Action{Kill, Pause, Delay} }

// MaxDelay bounds Order.Delay.
const MaxDelay = time.Minute

// Order is what is to happen, at the first time that any of the processes reaches the point.
type Order struct {
	Point  Point
	Action Action
	Delay  time.Duration // of Delay; at most MaxDelay
}

// Trigger is the directory through which a test arms points and processes report them.
//
//	DIR/armed          an order; renamed to taken-PID by the process that takes it
//	DIR/taken-PID
//	DIR/reached/POINT  some process has been there
type Trigger struct{ directory string }

const (
	armedFile    = "armed"
	takenPrefix  = "taken-"
	reachedFiles = "reached"
)

// NewTrigger makes the directory usable.
func NewTrigger(directory string) (*Trigger, error) {
	return &Trigger{directory}, os.MkdirAll(filepath.Join(directory, reachedFiles), 0o700)
}

// Arm has an order carried out once, in place of one that was not taken.
func (t *Trigger) Arm(o Order) error {
	if err := t.Disarm(); err != nil {
		return err
	}
	text := fmt.Sprintf("%s %s %d", o.Point, o.Action, o.Delay.Milliseconds())
	if _, err := parse(text); err != nil {
		return err
	}
	fresh := filepath.Join(t.directory, "fresh")
	if err := os.WriteFile(fresh, []byte(text), 0o600); err != nil {
		return err
	}
	return os.Rename(fresh, filepath.Join(t.directory, armedFile)) // whole, or not there
}

// Disarm removes an order that was not taken, and the record of the process that took the last one.
func (t *Trigger) Disarm() error {
	taken, err := filepath.Glob(filepath.Join(t.directory, takenPrefix+"*"))
	for _, path := range append(taken, filepath.Join(t.directory, armedFile)) {
		if failed := os.Remove(path); !errors.Is(failed, fs.ErrNotExist) {
			err = errors.Join(err, failed)
		}
	}
	return err
}

// Taken returns the process that has taken the order; 0: none has.
func (t *Trigger) Taken() (pid int, err error) {
	taken, err := filepath.Glob(filepath.Join(t.directory, takenPrefix+"*"))
	if err != nil || len(taken) == 0 {
		return 0, err
	}
	return strconv.Atoi(strings.TrimPrefix(filepath.Base(taken[0]), takenPrefix))
}

// Reached lists the names of points that any process has reached.
func (t *Trigger) Reached() (names []string, err error) {
	entries, err := os.ReadDir(filepath.Join(t.directory, reachedFiles))
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, err
}

// Hook returns the hook of a process that carries out orders. Errors of the directory go to failed: a test would prove
// nothing if an order were silently lost.
func (t *Trigger) Hook(failed func(error)) Hook {
	return func(p Point) {
		if err := os.WriteFile(filepath.Join(t.directory, reachedFiles, p.String()), nil, 0o600); err != nil {
			failed(err)
		}
		if err := t.obey(p); err != nil {
			failed(fmt.Errorf("at fault point %v: %w", p, err))
		}
	}
}

func (t *Trigger) obey(p Point) error {
	armed := filepath.Join(t.directory, armedFile)
	text, err := os.ReadFile(armed)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	o, err := parse(string(text))
	if err != nil || o.Point != p {
		return err
	}
	// FT3: one rename of the file succeeds. That it is another order by now is possible only if two are armed one right
	// after the other.
	if err := os.Rename(armed, filepath.Join(t.directory, takenPrefix+strconv.Itoa(os.Getpid()))); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	return o.Action.do(o.Delay)
}

func (a Action) do(delay time.Duration) error {
	switch a {
	case Kill:
		if err := unix.Kill(os.Getpid(), unix.SIGKILL); err != nil {
			return err
		}
		select {} // nothing after it happens
	case Pause:
		// The signal goes to this thread, so that it does not run on before the process has stopped.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		return unix.Tgkill(os.Getpid(), unix.Gettid(), unix.SIGSTOP)
	default:
		time.Sleep(delay)
		return nil
	}
}

func parse(text string) (o Order, err error) {
	words := strings.Fields(text)
	if len(words) != 3 {
		return o, fmt.Errorf("faults: %q is no order", text)
	}
	known := false
	if o.Point, known = Named(words[0]); !known {
		return o, fmt.Errorf("faults: there is no point %q", words[0])
	}
	if o.Action = Action(words[1]); o.Action != Kill && o.Action != Pause && o.Action != Delay {
		return o, fmt.Errorf("faults: %q is no action", words[1])
	}
	ms, err := strconv.ParseInt(words[2], 10, 64)
	o.Delay = time.Duration(ms) * time.Millisecond
	if err == nil && (o.Delay < 0 || o.Delay > MaxDelay) {
		err = fmt.Errorf("faults: a delay of %v: it is at most %v", o.Delay, MaxDelay)
	}
	return o, err
}
