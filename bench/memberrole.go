package bench

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"github.com/csmsql/csmsql/bench/growing"
	"github.com/csmsql/csmsql/bench/result"
	"github.com/csmsql/csmsql/bench/serving"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/engine"
)

// memberSetting is what a node of cluster is to be.
type memberSetting struct {
	Name        string
	Threads     int
	RegionBytes int64
	MemoryBytes int64
	// Begin a cluster, or join that of Etcd; neither: the node is alone, as the single-node build is.
	Begin bool
	Etcd  string
	// Fixed: small chunks stay as they are.
	Fixed bool
	// Address is where others of the cluster reach it; empty: its socket.
	Address string

	processors []int // that the process is kept to; nil: all
}

// memberHello is how the node is reached.
type memberHello struct {
	Socket string // node RPC
	Etcd   string // where others join
}

// asked is what a statement gave, and what it took: from the text to the last record batch.
type asked struct {
	Columns []string
	Rows    [][]string // unless they were not wanted
	Took    time.Duration
	Worked  time.Duration // processor time of the node, all that it did meanwhile
	// Local and Remote are bytes of chunks that were read, by all fragments, from memory of the reader's node and of
	// others.
	Local, Remote int64
	Fragments     int64
}

// memberRole is a node that answers SQL, alone or in a cluster.
func memberRole(ctx context.Context, args []string, talk *conversation) (err error) {
	var m memberSetting
	if err := json.Unmarshal([]byte(args[0]), &m); err != nil {
		return err
	}
	data, err := serving.Directory("")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(data)) }()
	region, err := serving.Directory(serving.SharedMemory)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(region)) }()
	e, err := engine.Open(ctx, m.config(data, region))
	if err != nil {
		return errors.Join(talk.answer(nil, err), err)
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	hello := memberHello{Socket: filepath.Join(data, memberSocket), Etcd: "unix://" + filepath.Join(data, "etcd", "etcd.sock")}
	listener, err := noderpc.ListenUnix(hello.Socket)
	if err != nil {
		return errors.Join(talk.answer(nil, err), err)
	}
	serving, stop := context.WithCancel(ctx)
	var group errgroup.Group
	group.Go(func() error {
		return noderpc.NewServer(e.Service(noderpc.Frontend{}), e.ServerOptions()).Serve(serving, listener)
	})
	defer func() { stop(); err = errors.Join(err, group.Wait()) }()
	if err := talk.answer(hello, nil); err != nil {
		return err
	}
	return m.serve(ctx, e, talk)
}

// memberSocket is the node's RPC in its data directory.
const memberSocket = "csmsql.sock"

func (m memberSetting) config(data, region string) engine.Config {
	c := engine.Config{
		Directory: data, RegionDirectory: region, RegionBytes: m.RegionBytes, MemoryBytes: m.MemoryBytes,
		Threads: m.Threads, Node: m.Name, NoCompaction: m.Fixed,
	}
	if m.Begin || m.Etcd != "" {
		c.Cluster = &engine.Cluster{Init: m.Begin, Address: cmp.Or(m.Address, filepath.Join(data, memberSocket))}
		if !m.Begin {
			c.Cluster.Endpoints = []string{m.Etcd}
		}
	}
	return c
}

// serve does what it is asked for, in one session; and in another what is to be run whole.
func (m memberSetting) serve(ctx context.Context, e *engine.Engine, talk *conversation) error {
	session, err := e.Session(engine.SessionOptions{})
	if err != nil {
		return err
	}
	defer session.Close()
	for r := range talk.requests {
		var result any
		var err error
		switch r.Do {
		case "tpch":
			err = e.LoadTPCH(ctx, noderpc.TPCHRequest{ScaleFactor: r.ScaleFactor, Placement: r.Placement}, nil)
		case "exec":
			_, err = session.Exec(ctx, r.SQL)
		case "ask":
			result, err = ask(ctx, session, r)
		case "grow":
			result, err = growing.Make(ctx, e, session, r.Wanted)
		case "repeat":
			result, err = growing.Repeat(ctx, session, r.SQL, r.Before, r.Parameters)
		case "work":
			result, err = worked()
		default:
			err = fmt.Errorf("the node cannot %q", r.Do)
		}
		if err := talk.answer(result, err); err != nil {
			return err
		}
	}
	return nil
}

// ask runs a query to its end. What it read is asked for afterwards: that is no part of its time.
func ask(ctx context.Context, s *engine.Session, r request) (a asked, err error) {
	before, err := worked()
	if err != nil {
		return a, err
	}
	began := time.Now()
	a.Columns, a.Rows, err = result.Of(ctx, s, r.SQL, r.Answer)
	a.Took = time.Since(began)
	after, failed := worked()
	a.Worked = after - before
	if err := errors.Join(err, failed); err != nil || !r.Answer {
		return a, err
	}
	_, past, err := result.Of(ctx, s, "SELECT bytes_local, bytes_remote, fragments FROM csm.queries ORDER BY started DESC LIMIT 1", true)
	if err == nil && len(past) == 1 {
		_, err = fmt.Sscan(past[0][0]+" "+past[0][1]+" "+past[0][2], &a.Local, &a.Remote, &a.Fragments)
	}
	return a, err
}

// worked is the processor time of this process so far.
func worked() (time.Duration, error) {
	var u unix.Rusage
	err := unix.Getrusage(unix.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), err
}
