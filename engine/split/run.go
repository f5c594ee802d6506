package split

import (
	"context"
	"errors"
	"runtime/debug"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/hugetable"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/exec/plan/distribute"
	"github.com/csmsql/csmsql/internal/faults"
	"github.com/csmsql/csmsql/memregion"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// Execution is one execution of a plan.
type Execution struct {
	Snapshot   *catalog.Snapshot // leased until the results are released
	Contents   *catalog.Contents // of the snapshot
	SearchPath []string
	Settings   map[string]string // that the nodes plan and run by
	Arguments  []any
}

// Run is a statement that runs in parts: the results that it has so far.
type Run struct {
	Execution
	node    *Coordinator
	plan    *Plan
	results []stageResult           // of the stages so far, in order
	tables  []*catalog.TableVersion // of the results that the final text reads

	mu        sync.Mutex // guards what follows
	remote    []*noderpc.FragmentRun
	local     []func()
	progress  noderpc.FragmentProgress
	fragments int64
}

// Run runs the stages of a plan. The caller calls Release or LetGo when it has no error.
func (c *Coordinator) Run(ctx context.Context, p *Plan, x Execution) (*Run, error) {
	r := &Run{Execution: x, node: c, plan: p}
	for i := range p.Stages {
		err := r.stage(ctx, &p.Stages[i])
		c.Fault.At(faults.StageRan)
		if err != nil {
			if over := r.Check(); over != nil { // then a part may have read anything
				err = over
			}
			r.Release()
			return nil, err
		}
	}
	return r, nil
}

// Tables are the results that the final text reads.
func (r *Run) Tables() []*catalog.TableVersion { return r.tables }

// Read is what the fragments have read, and how many there were.
func (r *Run) Read() (noderpc.FragmentProgress, int64) { return r.progress, r.fragments }

// Check reports whether everything that was read of the results so far was the results, and what they were made of.
func (r *Run) Check() error {
	for _, f := range r.remote {
		if err := f.Check(); err != nil {
			return err
		}
	}
	var regions []memregion.RegionID // of tables: fragments read all over the cluster under this statement's lease
	for _, v := range r.plan.Versions {
		regions = append(regions, r.node.Facts.Of(v).Regions()...)
	}
	return r.Snapshot.Trust(regions...)
}

// stage runs a stage's fragments at once. Those of this node begin when all others have been asked: what they do in C
// keeps a processor from goroutines that have something to send.
func (r *Run) stage(ctx context.Context, stage *distribute.Stage) error {
	made := make([]ranFragment, len(stage.Fragments))
	group, running := errgroup.WithContext(ctx)
	var asked sync.WaitGroup
	here := func(f *distribute.Fragment) bool { return f.Node == r.node.Name }
	for i := range stage.Fragments {
		if !here(&stage.Fragments[i]) {
			asked.Add(1)
		}
	}
	for i := range stage.Fragments {
		f := &stage.Fragments[i]
		ready := asked.Wait
		if !here(f) {
			ready = sync.OnceFunc(asked.Done)
		}
		group.Go(func() (err error) {
			defer r.recovered(&err)
			if !here(f) {
				defer ready()
			}
			// The result lives on after the group's context, until release.
			made[i], err = r.fragment(ctx, running, stage, f, ready)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return r.collect(stage, made)
}

// recovered makes a panic the statement's error, and not the end of a node that others use: a fragment reads other
// nodes' memory, of which this one may not have heard yet that it holds something else by now.
func (r *Run) recovered(err *error) {
	if reason := recover(); reason != nil {
		r.node.Log.Error("a part of a statement panicked", "reason", reason, "stack", string(debug.Stack()))
		*err = sqlerror.New("XX000", "a part of the statement failed: %v", reason).
			WithHint("This is a mistake in csmsql; the node's log has the details.")
	}
}

// fragment runs one fragment at its node; here, if that node cannot be reached: it only reads more remotely. ready says
// that another node was asked, or failed to be; before a fragment of this node it waits until all others were.
func (r *Run) fragment(ctx, running context.Context, stage *distribute.Stage, f *distribute.Fragment,
	ready func()) (ranFragment, error) {
	c := r.node
	request, err := r.request(running, stage, f)
	if err != nil {
		return ranFragment{}, err
	}
	attempts := 1
	if f.Node != c.Name {
		result, err := r.remotely(ctx, running, request, f.Node, ready)
		if err == nil {
			return ranOn(f.Node, attempts, stage, result)
		}
		if !repeatedHere(err) {
			return ranFragment{}, err
		}
		if err := running.Err(); err != nil { // and not what became of the node meanwhile
			return ranFragment{}, err
		}
		c.Retried()
		c.Log.Warn("a node does not run its fragment; it is run here", "node", f.Node, "error", err)
		attempts++
	}
	ready()
	result, err := c.Here(running, request)
	if err != nil {
		return ranFragment{}, err
	}
	r.mu.Lock()
	r.local = append(r.local, result.Release)
	r.count(result.Total)
	r.mu.Unlock()
	return ranOn(c.Name, attempts, stage, result)
}

func (r *Run) remotely(ctx, running context.Context, request noderpc.FragmentRequest, name string,
	sent func()) (noderpc.FragmentResult, error) {
	node := r.node.Node
	client, err := node.Peer(running, name)
	if err != nil {
		return noderpc.FragmentResult{}, err
	}
	r.node.Fault.At(faults.FragmentAsking)
	// A result that is there is let go by Release, which a lender hears at once, and not by the statement's context,
	// after which it would keep the result until it is sure that it has no reader any more.
	bound, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(running, cancel)
	options := noderpc.FragmentOptions{Lends: node.Lends(name), Refusals: node.Refusals, Sent: sent}
	f, err := client.RunFragment(bound, request, options)
	if !stop() && err == nil { // it was cancelled with its last word
		err = running.Err()
		_ = f.Close() // there is no stream any more
	}
	if err != nil {
		cancel()
		return noderpc.FragmentResult{}, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.remote = append(r.remote, f)
	r.count(f.Result.Total)
	return f.Result, nil
}

// count requires mu.
func (r *Run) count(p noderpc.FragmentProgress) {
	r.fragments++
	r.progress.Rows += p.Rows
	r.progress.BytesLocal += p.BytesLocal
	r.progress.BytesRemote += p.BytesRemote
}

// Release lets all results go, wherever they lie, at once: a round trip, however many nodes there are.
func (r *Run) Release() {
	r.node.Facts.Forget(r.tables...)
	var closing sync.WaitGroup
	for _, f := range r.remote {
		closing.Go(func() {
			if err := f.Close(); err != nil {
				r.node.Log.Debug("the result of a fragment was gone before it was released", "error", err)
			}
		})
	}
	for _, release := range r.local {
		release()
	}
	closing.Wait()
}

// LetGo is Release when the rows are closed. It happens in the background, so that the client does not wait for the
// round trip. The engine's end waits for it. Large results, and those of statements beyond LaterMost, are gone when it
// returns: the next statement may need their memory.
func (r *Run) LetGo() {
	c := r.node
	if r.bytes() > laterBytes || !c.later.begin() {
		r.Release()
		return
	}
	if !c.Life.EnterToClose() {
		c.later.done()
		r.Release()
		return
	}
	go func() {
		defer c.Life.Leave()
		defer c.later.done()
		r.Release()
	}()
}

// ErrTypes is that the parts gave other columns than the statement has.
var ErrTypes = errors.New("the parts of the statement give columns of other types")

// Only reports whether a statement failed because it was split, and may be run whole: its results had no room in lent
// memory or were lost with the node that made them, or are more than a message can list, or are of other types than was
// thought (D3).
func Only(err error) bool {
	var state interface{ SQLState() string }
	return unreachable(err) || errors.Is(err, noderpc.ErrFragmentOver) || errors.Is(err, errManyChunks) || errors.Is(err, ErrTypes) ||
		errors.As(err, &state) && slices.Contains([]string{"53200", catalog.ErrLenderGone.SQLState()}, state.SQLState())
}

// repeatedHere reports whether a fragment that failed at another node is run by this one. A page that the other does
// not find may have gone because this node was given up, and its lease with it: a reader of the page here learns that.
func repeatedHere(err error) bool { return unreachable(err) || errors.Is(err, hugetable.ErrLost) }

// unreachable reports whether the node was not heard, which says nothing about the fragment.
func unreachable(err error) bool {
	var state interface{ SQLState() string }
	if errors.Is(err, catalog.ErrLenderGone) || errors.Is(err, noderpc.ErrNodeGone) || errors.Is(err, noderpc.ErrRestarted) {
		return true
	}
	return errors.As(err, &state) && slices.Contains([]string{"08006", "08001", "57P03", "53000"}, state.SQLState())
}
