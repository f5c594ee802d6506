package worker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"golang.org/x/sys/unix"
)

// process is one worker as the node sees it. One Result at a time has it.
type process struct {
	*link
	slot     int // of the pool's
	command  *exec.Cmd
	window   *window
	output   *head
	started  time.Time
	ended    chan struct{} // closed when it is reaped, and nothing of it runs
	revision int64         // of the snapshot that it has; the present Result's
	layout   *arrow.Schema // of the batches that come; the receiving goroutine's

	mu      sync.Mutex // guards the rest; a leaf
	current *Result
	number  uint64 // of the last order
	ran     int64  // statements that it was given
	wanted  bool   // the pool killed it, and knows why
	gone    *Crash // why it is gone; nil: it is not
	resting bool   // it ran nothing then
	leaves  bool   // it is about to end, and says so
}

// spawn starts a worker; it is not ready yet.
func spawn(o *Options, slot int) (*process, error) {
	w, err := newWindow()
	if err != nil {
		return nil, err
	}
	ours, theirs, err := socketPair()
	if err != nil {
		w.close()
		return nil, err
	}
	defer theirs.Close() // the child has its own
	p := &process{link: newLink(ours), slot: slot, window: w, output: &head{}, started: time.Now(), ended: make(chan struct{})}
	p.command = exec.Command(o.Command[0], o.Command[1:]...)
	p.command.Env = append(append(os.Environ(), "GOTRACEBACK=single"), o.Environment...)
	p.command.Args[0] = os.Args[0] // whatever path it is found by
	p.command.ExtraFiles = []*os.File{theirs, w.file}
	p.command.Stdout, p.command.Stderr = p.output, p.output
	p.command.WaitDelay = time.Second // for what it may have left that writes on
	// A group of its own: Ctrl-C at the terminal is the node's.
	p.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := p.command.Start(); err != nil {
		ours.Close()
		w.close()
		return nil, fmt.Errorf("start %s: %w", o.Command[0], err)
	}
	go p.receive()
	return p, nil
}

func socketPair() (ours *net.UnixConn, theirs *os.File, err error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("make a worker's sockets: %w", err)
	}
	file := os.NewFile(uintptr(pair[0]), "worker")
	defer file.Close() // FileConn has its own
	theirs = os.NewFile(uintptr(pair[1]), "node")
	conn, err := net.FileConn(file)
	if err != nil {
		theirs.Close()
		return nil, nil, fmt.Errorf("make a worker's sockets: %w", err)
	}
	return conn.(*net.UnixConn), theirs, nil
}

// receive takes reports until the worker ends, one way or another.
func (p *process) receive() {
	var err error
	for err == nil {
		r := &report{}
		if err = p.in.Decode(r); err == nil {
			err = p.hear(r)
		}
	}
	_ = p.command.Process.Kill() // it may have ended by itself
	waited := p.command.Wait()
	p.mu.Lock()
	p.gone = &Crash{Process: p.command.Process.Pid, How: p.how(waited, err), Output: p.output.String()}
	current := p.current
	p.current, p.resting = nil, current == nil
	p.mu.Unlock()
	p.conn.Close() // its peer is gone
	p.window.close()
	close(p.ended)
	if current != nil {
		current.finish(p.gone, nil)
	}
}

// hear takes one report. An error means that this worker is not to be talked to any more (WK3).
func (p *process) hear(r *report) (err error) {
	defer func() {
		if panicked := recover(); panicked != nil { // arrow-go, about a schema
			err = fmt.Errorf("a report that makes no sense: %v", panicked)
		}
	}()
	p.mu.Lock()
	current := p.current
	last := r.Kind == reportEnd || r.Kind == reportReady
	if current != nil && current.number == r.Number && last {
		p.current, p.leaves = nil, r.Leaves
	}
	p.mu.Unlock()
	if current == nil || current.number != r.Number {
		return errors.New("a report of nothing that was asked for")
	}
	switch r.Kind {
	case reportBegun:
		p.layout = nil
		return current.begin(r.Description)
	case reportBatch:
		batch, err := p.batch(r)
		if err != nil {
			return fmt.Errorf("a batch that makes no sense: %w", err)
		}
		current.add(batch, r.Size, r.Slot)
	case reportReady, reportEnd:
		var failed error
		if r.Failure != nil {
			failed = r.Failure
		}
		current.finish(failed, r)
	default:
		return fmt.Errorf("a report of kind %d", r.Kind)
	}
	return nil
}

// batch copies one out of the window and looks it through.
func (p *process) batch(r *report) (arrow.RecordBatch, error) {
	if r.Slot < 0 || r.Slot >= slots || r.Size < 0 || r.Size > slotBytes {
		return nil, fmt.Errorf("%d bytes in slot %d", r.Size, r.Slot)
	}
	if r.Layout != nil {
		layout, err := DecodeSchema(r.Layout)
		if err != nil {
			return nil, err
		}
		p.layout = layout
	}
	if p.layout == nil {
		return nil, errors.New("it has no schema")
	}
	bytes := make([]byte, r.Size)
	copy(bytes, p.window.slot(r.Slot))
	return batchOf(p.layout, r.Rows, r.Shape, bytes)
}

// order gives the worker something to do, as a Result. Preconditions: it has nothing else.
func (p *process) order(ctx context.Context, o *order, grace time.Duration, ended func(*Result)) (*Result, error) {
	r := &Result{process: p, grace: grace, ended: ended, begun: make(chan struct{}), severed: make(chan struct{}), wake: make(chan struct{}, 1)}
	p.mu.Lock()
	if p.gone != nil {
		p.mu.Unlock()
		return nil, p.gone
	}
	p.number++
	p.ran++
	r.number, o.Number = p.number, p.number
	r.unwatch = context.AfterFunc(ctx, func() { r.cancel(canceled(ctx)) })
	p.current = r
	p.mu.Unlock()
	// A worker that does not read ends by the watch, and what is sent to it then fails.
	if err := p.send(o, false); err != nil {
		p.kill(false)
	}
	return r, nil
}

func canceled(ctx context.Context) *Failure {
	f := &Failure{State: "57014", Message: "canceling statement due to user request"}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		f.Message = "canceling statement due to statement timeout"
	}
	return f
}

// kill ends it at once; wanted: that is no crash.
func (p *process) kill(wanted bool) {
	p.mu.Lock()
	p.wanted = p.wanted || wanted
	p.mu.Unlock()
	_ = p.command.Process.Kill() // it may have ended by itself
}

// signalled is what Go's runtime writes before it exits because of a signal in C code.
var signalled = regexp.MustCompile(`(?m)^(SIG[A-Z]+: [a-z ]+)`)

// how says in few words how it ended.
func (p *process) how(waited, heard error) string {
	state := p.command.ProcessState
	var exit *exec.ExitError
	switch m := signalled.FindStringSubmatch(p.output.String()); {
	case m != nil:
		return strings.TrimSpace(m[1])
	case state == nil:
		return fmt.Sprintf("%v", waited)
	case errors.As(waited, &exit) && !(state.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL && heard != nil && !lost(heard)):
		return state.String()
	case heard != nil && !lost(heard):
		return heard.Error()
	}
	return state.String()
}

// lost reports whether an error is an end of the connection, and not a report that makes no sense.
func lost(err error) bool {
	var of *net.OpError
	return errors.As(err, &of) || strings.HasSuffix(err.Error(), "EOF")
}

// head keeps the first bytes that are written to it: Go's runtime says first what happened.
type head struct {
	mu   sync.Mutex
	text strings.Builder
}

const headBytes = 1 << 10

func (h *head) Write(b []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.text.Write(b[:min(len(b), headBytes-h.text.Len())])
	return len(b), nil
}

func (h *head) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.text.String()
}
