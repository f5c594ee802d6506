package serving

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// Server is a side: a process that speaks the PostgreSQL protocol, in directories that go with it.
type Server struct {
	Name     string
	Conninfo string
	// Others are the connection strings of nodes of the same cluster.
	Others []string
	// Version is what PostgreSQL says of itself.
	Version string
	// Directories are removed with it. The first one is its data's, or has its data in it.
	Directories []string

	cmd    *exec.Cmd
	said   Tail
	exited chan error // holds what Wait said
}

// StopGrace is how long a process may take to end in order.
const StopGrace = 20 * time.Second

const (
	// startTimeout is how long a server may take until it answers; startPoll is how often it is asked.
	startTimeout = 60 * time.Second
	startPoll    = 20 * time.Millisecond
)

// directory makes a temporary directory below parent; Close removes it.
func (s *Server) directory(parent string) (string, error) {
	dir, err := Directory(parent)
	if err == nil {
		s.Directories = append(s.Directories, dir)
	}
	return dir, err
}

// run starts cmd, which dies with this process, and waits until it answers.
func (s *Server) run(ctx context.Context) error {
	s.cmd.Stderr = &s.said
	if s.cmd.SysProcAttr == nil {
		s.cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	s.cmd.SysProcAttr.Pdeathsig = syscall.SIGINT
	s.cmd.SysProcAttr.Setpgid = true // Ctrl-C reaches only the benchmark, which ends it
	if err := s.cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", s.Name, err)
	}
	s.exited = make(chan error, 1)
	go func() { s.exited <- s.cmd.Wait() }() // Close receives it
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	poll := time.NewTicker(startPoll)
	defer poll.Stop()
	for {
		conn, failed := pgx.Connect(ctx, s.Conninfo)
		if failed == nil {
			return conn.Close(ctx)
		}
		select {
		case err := <-s.exited:
			s.exited <- err
			return fmt.Errorf("%s ended at its start: %v%s", s.Name, err, s.said.Text())
		case <-ctx.Done():
			return fmt.Errorf("%s does not answer: %w%s", s.Name, failed, s.said.Text())
		case <-poll.C:
		}
	}
}

// Close stops the server and removes its directories.
func (s *Server) Close() (err error) {
	if s.exited != nil {
		_ = s.cmd.Process.Signal(syscall.SIGINT) // it may have ended
		late := time.AfterFunc(StopGrace, func() { _ = s.cmd.Process.Kill() })
		defer late.Stop()
		if ended := <-s.exited; ended != nil {
			err = fmt.Errorf("%s: %w%s", s.Name, ended, s.said.Text())
		}
	}
	for _, dir := range s.Directories {
		err = errors.Join(err, os.RemoveAll(dir))
	}
	return err
}

// Exec runs a statement over a connection of its own.
func (s *Server) Exec(ctx context.Context, sql string) error {
	conn, err := pgx.Connect(ctx, s.Conninfo)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	_, err = conn.Exec(ctx, sql)
	return err
}

// Product is csmsql, and with how many threads it serves.
type Product struct {
	// Command is its program; empty: this one.
	Command string
	Threads int
}

// Start serves, as users of it do, with more arguments.
func (p Product) Start(ctx context.Context, more ...string) (_ *Server, err error) {
	s := &Server{Name: "csmsql"}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	program, err := p.program()
	if err != nil {
		return nil, err
	}
	data, err := s.directory("")
	if err != nil {
		return nil, err
	}
	memory := SharedMemory
	if slices.Contains(more, "file") { // of --fabric: beside the data
		memory = ""
	}
	region, err := s.directory(memory)
	if err != nil {
		return nil, err
	}
	args := append([]string{
		"serve", "--data", data, "--pg", "off", "--region", "1GiB", "--region-dir", region,
		"--threads", strconv.Itoa(p.Threads), "--log-level", "warn",
	}, more...)
	s.cmd = exec.Command(program, args...)
	s.Conninfo = connectTo(data, "csmsql")
	return s, s.run(ctx)
}

func (p Product) program() (string, error) {
	if p.Command != "" {
		return p.Command, nil
	}
	program, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("which program this is: %w", err)
	}
	return program, nil
}

// StartNodes serves with so many nodes of a cluster, each with a member of etcd. Those that were started are given on
// an error, too.
func (p Product) StartNodes(ctx context.Context, nodes int) (list []*Server, err error) {
	program, err := p.program()
	if err != nil {
		return nil, err
	}
	begins := []string{"cluster", "init"}
	for i := range nodes {
		s := &Server{Name: fmt.Sprintf("csmsql, node %d of %d", i+1, nodes)}
		list = append(list, s)
		parent, err := s.directory("")
		if err != nil {
			return list, err
		}
		region, err := s.directory(SharedMemory)
		if err != nil {
			return list, err
		}
		data := filepath.Join(parent, "data")
		args := append(begins, "--data", data, "--node", fmt.Sprintf("n%d", i), "--pg", "off", "--region", "256MiB",
			"--region-dir", region, "--threads", strconv.Itoa(p.Threads))
		made, err := exec.CommandContext(ctx, program, args...).CombinedOutput()
		if err != nil {
			return list, fmt.Errorf("%s: %w: %s", s.Name, err, made)
		}
		if i == 0 {
			begins = []string{"cluster", "join", "--etcd-member", "--to", data}
		}
		s.cmd = exec.Command(program, "serve", "--data", data, "--log-level", "warn")
		s.Conninfo = connectTo(data, "csmsql")
		if err := s.run(ctx); err != nil {
			return list, err
		}
	}
	return list, nil
}

// Servers are the connection strings of the cluster that it is of, or its own.
func (s *Server) Servers() []string { return append([]string{s.Conninfo}, s.Others...) }

// postgresPort only names the sockets; nothing listens on TCP.
const postgresPort = "5432"

func connectTo(directory, database string) string {
	return fmt.Sprintf("host=%s port=%s user=postgres database=%s sslmode=disable", filepath.Clean(directory), postgresPort, database)
}
