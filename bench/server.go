package bench

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

// server is a side of egress, workers, cancel and writes: a process that speaks the PostgreSQL protocol, in directories
// that go with it.
type server struct {
	name        string
	conninfo    string
	others      []string // of nodes of the same cluster
	version     string
	afterLoad   string
	directories []string
	cmd         *exec.Cmd
	said        tail
	exited      chan error // holds what Wait said
}

const (
	// startTimeout is how long a server may take until it answers; startPoll is how often it is asked.
	startTimeout = 60 * time.Second
	startPoll    = 20 * time.Millisecond
)

// directory makes a temporary directory below parent; close removes it.
func (s *server) directory(parent string) (string, error) {
	dir, err := newDirectory(parent)
	if err == nil {
		s.directories = append(s.directories, dir)
	}
	return dir, err
}

// run starts cmd, which dies with this process, and waits until it answers.
func (s *server) run(ctx context.Context) error {
	s.cmd.Stderr = &s.said
	if s.cmd.SysProcAttr == nil {
		s.cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	s.cmd.SysProcAttr.Pdeathsig = syscall.SIGINT
	s.cmd.SysProcAttr.Setpgid = true // Ctrl-C reaches only the benchmark, which ends it
	if err := s.cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", s.name, err)
	}
	s.exited = make(chan error, 1)
	go func() { s.exited <- s.cmd.Wait() }() // close receives it
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	poll := time.NewTicker(startPoll)
	defer poll.Stop()
	for {
		conn, failed := pgx.Connect(ctx, s.conninfo)
		if failed == nil {
			return conn.Close(ctx)
		}
		select {
		case err := <-s.exited:
			s.exited <- err
			return fmt.Errorf("%s ended at its start: %v%s", s.name, err, s.said.text())
		case <-ctx.Done():
			return fmt.Errorf("%s does not answer: %w%s", s.name, failed, s.said.text())
		case <-poll.C:
		}
	}
}

// close stops the server and removes its directories.
func (s *server) close() (err error) {
	if s.exited != nil {
		_ = s.cmd.Process.Signal(syscall.SIGINT) // it may have ended
		late := time.AfterFunc(stopGrace, func() { _ = s.cmd.Process.Kill() })
		defer late.Stop()
		if ended := <-s.exited; ended != nil {
			err = fmt.Errorf("%s: %w%s", s.name, ended, s.said.text())
		}
	}
	for _, dir := range s.directories {
		err = errors.Join(err, os.RemoveAll(dir))
	}
	return err
}

func (s *server) exec(ctx context.Context, sql string) error {
	conn, err := pgx.Connect(ctx, s.conninfo)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	_, err = conn.Exec(ctx, sql)
	return err
}

// startCsmsql serves with the product itself, as its users run it. Its first directory is its data's.
func startCsmsql(ctx context.Context, o Options, more ...string) (_ *server, err error) {
	s := &server{name: "csmsql"}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	program, err := o.program()
	if err != nil {
		return nil, err
	}
	data, err := s.directory("")
	if err != nil {
		return nil, err
	}
	memory := sharedMemory
	if slices.Contains(more, "file") { // of --fabric: beside the data
		memory = ""
	}
	region, err := s.directory(memory)
	if err != nil {
		return nil, err
	}
	args := append([]string{
		"serve", "--data", data, "--pg", "off", "--region", "1GiB", "--region-dir", region, "--threads", strconv.Itoa(o.Threads), "--log-level", "warn",
	}, more...)
	s.cmd = exec.Command(program, args...)
	s.conninfo = connectTo(data, "csmsql")
	return s, s.run(ctx)
}

// program is the product itself.
func (o Options) program() (string, error) {
	if o.Command != "" {
		return o.Command, nil
	}
	program, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("which program this is: %w", err)
	}
	return program, nil
}

// startNodes serves with so many nodes of a cluster, each with a member of etcd. Those that were started are given on
// an error, too.
func startNodes(ctx context.Context, o Options, nodes int) (list []*server, err error) {
	program, err := o.program()
	if err != nil {
		return nil, err
	}
	begins := []string{"cluster", "init"}
	for i := range nodes {
		s := &server{name: fmt.Sprintf("csmsql, node %d of %d", i+1, nodes)}
		list = append(list, s)
		parent, err := s.directory("")
		if err != nil {
			return list, err
		}
		region, err := s.directory(sharedMemory)
		if err != nil {
			return list, err
		}
		data := filepath.Join(parent, "data")
		args := append(begins, "--data", data, "--node", fmt.Sprintf("n%d", i), "--pg", "off", "--region", "256MiB",
			"--region-dir", region, "--threads", strconv.Itoa(o.Threads))
		made, err := exec.CommandContext(ctx, program, args...).CombinedOutput()
		if err != nil {
			return list, fmt.Errorf("%s: %w: %s", s.name, err, made)
		}
		if i == 0 {
			begins = []string{"cluster", "join", "--etcd-member", "--to", data}
		}
		s.cmd = exec.Command(program, "serve", "--data", data, "--log-level", "warn")
		s.conninfo = connectTo(data, "csmsql")
		if err := s.run(ctx); err != nil {
			return list, err
		}
	}
	return list, nil
}

// servers are where its table is.
func (s *server) servers() []string { return append([]string{s.conninfo}, s.others...) }

// postgresPort only names the sockets; nothing listens on TCP.
const postgresPort = "5432"

func connectTo(directory, database string) string {
	return fmt.Sprintf("host=%s port=%s user=postgres database=%s sslmode=disable", filepath.Clean(directory), postgresPort, database)
}
