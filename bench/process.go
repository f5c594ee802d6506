package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// childWord is the first argument of a process that a benchmark starts of its own program.
const childWord = "bench-process"

// stopGrace is how long a process may take to end in order.
const stopGrace = 20 * time.Second

// roles are what such a process can be. It answers requests until there are no more.
var roles = map[string]func(ctx context.Context, args []string, talk *conversation) error{
	"node": nodeRole, "reader": readerRole,
}

// Child runs the part of a benchmark that belongs in a process of its own, if args (without the program's name) say so.
// Programs that call Run call it before anything else:
//
//	if handled, err := bench.Child(os.Args[1:]); handled { … exit }
//
// Such a process ends with its standard input: it never outlives the benchmark that started it.
func Child(args []string) (handled bool, err error) {
	if len(args) < 2 || args[0] != childWord {
		return false, nil
	}
	role := roles[args[1]]
	if role == nil {
		return true, fmt.Errorf("bench: there is no process %q", args[1])
	}
	talk := &conversation{in: json.NewDecoder(os.Stdin), out: json.NewEncoder(os.Stdout)}
	return true, role(context.Background(), args[2:], talk)
}

// conversation is the child's side of the pipe: one answer per request, the first one unasked.
type conversation struct {
	in  *json.Decoder
	out *json.Encoder
}

type request struct {
	Do   string `json:"do"`
	Rows int64  `json:"rows,omitempty"`
	// Skew falsifies one value.
	Skew bool `json:"skew,omitempty"`
}

type answer struct {
	Error  string          `json:"error,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
}

// next gives the next request; ok is false after the last one.
func (c *conversation) next() (r request, ok bool, err error) {
	if err = c.in.Decode(&r); err == io.EOF {
		return r, false, nil
	}
	return r, err == nil, err
}

func (c *conversation) answer(result any, failed error) error {
	if failed != nil {
		return c.out.Encode(answer{Error: failed.Error()})
	}
	data, err := json.Marshal(result)
	if err != nil {
		return err
	}
	return c.out.Encode(answer{Result: data})
}

// process is a child, as its parent sees it. One goroutine uses it at a time.
type process struct {
	name   string
	cmd    *exec.Cmd
	stdin  io.Closer
	out    *json.Encoder
	in     *json.Decoder
	errors tail
}

// start starts this program again in a role and reads its first answer into hello.
func start(ctx context.Context, hello any, role string, args ...string) (*process, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("which program this is: %w", err)
	}
	p := &process{name: "the " + role + " process", cmd: exec.CommandContext(ctx, program, append([]string{childWord, role}, args...)...)}
	stdin, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.stdin, p.out, p.in = stdin, json.NewEncoder(stdin), json.NewDecoder(stdout)
	p.cmd.Stderr = &p.errors
	p.cmd.Cancel, p.cmd.WaitDelay = stdin.Close, stopGrace
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", p.name, err)
	}
	if err := p.read(hello); err != nil {
		return nil, errors.Join(err, p.close())
	}
	return p, nil
}

func (p *process) pid() int { return p.cmd.Process.Pid }

// ask sends a request and reads its answer.
func (p *process) ask(r request, result any) error {
	if err := p.out.Encode(r); err != nil {
		return fmt.Errorf("%s does not listen: %w%s", p.name, err, p.errors.text())
	}
	return p.read(result)
}

func (p *process) read(result any) error {
	var a answer
	if err := p.in.Decode(&a); err != nil {
		return fmt.Errorf("%s does not answer: %w%s", p.name, err, p.errors.text())
	}
	if a.Error != "" {
		return fmt.Errorf("%s: %s", p.name, a.Error)
	}
	if result == nil {
		return nil
	}
	return json.Unmarshal(a.Result, result)
}

// close lets the process end and waits for it.
func (p *process) close() error {
	_ = p.stdin.Close() // it may be closed already
	late := time.AfterFunc(stopGrace, func() { _ = p.cmd.Process.Kill() })
	defer late.Stop()
	if err := p.cmd.Wait(); err != nil {
		return fmt.Errorf("%s: %w%s", p.name, err, p.errors.text())
	}
	return nil
}

// tail keeps the end of what a process says on standard error.
type tail struct {
	mu   sync.Mutex // guards kept
	kept []byte
}

const tailBytes = 4 << 10

// Write implements io.Writer.
func (t *tail) Write(data []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, data...)
	t.kept = bytes.Clone(t.kept[max(0, len(t.kept)-tailBytes):])
	return len(data), nil
}

func (t *tail) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if text := strings.TrimSpace(string(t.kept)); text != "" {
		return "\nit said: " + text
	}
	return ""
}
