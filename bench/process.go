package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"github.com/csmsql/csmsql/bench/growing"
	"github.com/csmsql/csmsql/bench/serving"
)

// childWord is the first argument of a process that a benchmark starts of its own program.
const childWord = "bench-process"

// roles are what such a process can be. It answers requests until there are no more.
var roles = map[string]func(ctx context.Context, args []string, talk *conversation) error{
	"lender": lenderRole, "member": memberRole, "node": nodeRole, "reader": readerRole,
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
	// Ctrl-C reaches the whole process group, and a benchmark that died is a broken pipe. Both must not keep a node
	// from giving its region back (B4); it ends at the end of standard input in any case.
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	talk := &conversation{requests: make(chan request), out: json.NewEncoder(os.Stdout)}
	go talk.listen(ctx, cancel) // reads as long as the parent writes; the process ends with its role
	return true, role(ctx, args[2:], talk)
}

// conversation is the child's side of the pipe: one answer per request, the first one unasked.
type conversation struct {
	requests chan request
	out      *json.Encoder
}

// listen passes requests on and ends whatever is being done when there can be no more.
func (c *conversation) listen(ctx context.Context, cancel context.CancelFunc) {
	defer cancel()
	defer close(c.requests)
	in := json.NewDecoder(os.Stdin)
	for {
		var r request
		if in.Decode(&r) != nil {
			return
		}
		select {
		case c.requests <- r:
		case <-ctx.Done():
			return
		}
	}
}

type request struct {
	Do   string `json:"do"`
	Rows int64  `json:"rows,omitempty"`
	// Skew falsifies one value.
	Skew bool `json:"skew,omitempty"`
	// Of cluster's nodes: what to load, what to ask, and whether the answer is wanted beside the time that it took.
	ScaleFactor float64 `json:"sf,omitempty"`
	Placement   string  `json:"placement,omitempty"`
	SQL         string  `json:"sql,omitempty"`
	Answer      bool    `json:"answer,omitempty"`
	// Of growth's nodes: what there is to be, and what to repeat with which parameters, each time after another one.
	Wanted     growing.Wanted `json:"wanted,omitzero"`
	Parameters [][]int64      `json:"parameters,omitempty"`
	Before     string         `json:"before,omitempty"`
	// Descriptor of a table that thesis created.
	Descriptor []byte `json:"descriptor,omitempty"`
}

type answer struct {
	Error  string          `json:"error,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
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
	errors serving.Tail
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
	p.cmd.Cancel, p.cmd.WaitDelay = stdin.Close, serving.StopGrace
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
		return fmt.Errorf("%s does not listen: %w%s", p.name, err, p.errors.Text())
	}
	return p.read(result)
}

func (p *process) read(result any) error {
	var a answer
	if err := p.in.Decode(&a); err != nil {
		return fmt.Errorf("%s does not answer: %w%s", p.name, err, p.errors.Text())
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
	late := time.AfterFunc(serving.StopGrace, func() { _ = p.cmd.Process.Kill() })
	defer late.Stop()
	if err := p.cmd.Wait(); err != nil {
		return fmt.Errorf("%s: %w%s", p.name, err, p.errors.Text())
	}
	return nil
}
