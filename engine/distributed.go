package engine

import (
	"context"
	"errors"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	pg "github.com/pganalyze/pg_query_go/v6"
	"golang.org/x/sync/errgroup"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/exec/plan"
	"github.com/csmsql/csmsql/exec/plan/distribute"
	"github.com/csmsql/csmsql/internal/faults"
	"github.com/csmsql/csmsql/memregion"
	"github.com/csmsql/csmsql/sql/optimization"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// A statement over tables that lie in several nodes' memory is split by exec/plan/distribute:
//
//	coordinator ── fragment (text, versions, chunks) ──► nodes: run it over their part, write the result into their memory
//	     ▲                                                │
//	     └──────────── descriptors of the results ────────┘     the coordinator reads them in place and finishes
//
// A result that is shuffled is written in partitions by the hash of some columns; the fragments of a later stage read one partition
// each, of all nodes' results, in place. The results belong to the statement: however it ends they are let go, by the coordinator's word
// or because nothing is heard of it any more (N12 of cluster/noderpc).
//
// What the planner does not split runs whole here: every byte can be read from here. Where one node holds everything,
// nothing of this is in the plan.

// distributed is how a statement is run by several nodes. Immutable, but for requests.
type distributed struct {
	*distribute.Distributed
	versions map[*plan.Relation]*catalog.TableVersion
	requests keptRequests
}

// distribute plans a statement for several nodes; nil: it runs whole here, for a reason.
func (s *Session) distribute(text string, tree *pg.ParseResult, v *visible) (*distributed, string) {
	e := s.engine
	switch {
	case e.node == nil || e.node.Self == nil || s.fragment:
		return nil, ""
	case s.block != nil && s.block.tx != nil:
		return nil, "the transaction has written"
	case s.arm != nil:
		return nil, "it calls set_config()"
	case s.settings.distribute == distributeOff:
		return nil, "csm.distribute is off"
	case s.settings.values["scalar_subquery_error_on_multiple_rows"] == "off": // their order says which row it is
		return nil, "scalar_subquery_error_on_multiple_rows is off"
	case s.settings.values["integer_division"] == "on" && strings.Contains(text, "/"): // to the planner it is a double
		return nil, "integer_division is on"
	case s.without().Has(optimization.Distribution):
		return nil, "csm.disable has distribution"
	}
	nodes := e.node.Online()
	if len(nodes) < 2 {
		return nil, "there is no other node"
	}
	if !slices.Contains(nodes, e.config.Node) {
		return nil, "this node is drained"
	}
	versions := map[*plan.Relation]*catalog.TableVersion{}
	resolve := s.resolver(v)
	resolver := plan.ResolverFunc(func(database, schema, table string) *plan.Relation {
		r := resolve.Relation(database, schema, table)
		if r != nil {
			versions[r] = v.find(r.Schema, r.Name)
		}
		return r
	})
	placement := distribute.PlacementFunc(func(r *plan.Relation) *distribute.Layout {
		layout, err := e.layout(versions[r])
		if err != nil {
			return nil // read whole
		}
		if s.without().Has(optimization.Colocation) {
			layout = withoutColocation(layout)
		}
		return layout
	})
	settings := distribute.DefaultSettings(e.config.Node, nodes, e.threads())
	if s.settings.distribute == distributeAlways {
		settings.MinRows, settings.MinBytes, settings.MinGain = 0, 0, 0
	}
	switch s.settings.shuffle {
	case shuffleOff:
		settings.ShuffleBytes = 0
	case shuffleAlways:
		settings.ShuffleBytes, settings.ShuffleGain = 1, anyGain
	}
	if e.config.CutOffs != nil {
		e.config.CutOffs(&settings)
	}
	withoutSplits(&settings, s.without())
	settings.Guess = e.config.Guesses
	d, single := distribute.Plan(text, tree, resolver, placement, settings)
	if single != nil {
		return nil, single.Reason
	}
	return &distributed{Distributed: d, versions: versions}, ""
}

// anyGain has whatever can be shuffled shuffled.
const anyGain = 1e-6

// nodes lists those that can run a fragment; none, if this node is alone.
func (e *Engine) nodes() []string {
	if e.node == nil || e.node.Self == nil {
		return nil
	}
	return e.node.Online()
}

// run is one execution of a distributed statement: the results that it has so far.
type run struct {
	session *Session
	plan    *distributed
	view    *visible
	args    []any
	results []stageResult // of the stages so far, in order
	tables  []*catalog.TableVersion

	mu        sync.Mutex // guards what follows
	remote    []*noderpc.FragmentRun
	local     []func()
	progress  noderpc.FragmentProgress
	fragments int64
}

// check tells whether everything that was read of the results so far was the results, and what they were made of.
func (r *run) check() error {
	for _, f := range r.remote {
		if err := f.Check(); err != nil {
			return err
		}
	}
	return r.trust()
}

// trust asks it of the tables: fragments read all over the cluster under this statement's lease.
func (r *run) trust() error {
	var regions []memregion.RegionID
	for _, v := range r.plan.versions {
		regions = append(regions, r.session.engine.facts.Of(v).Regions()...)
	}
	return r.view.lease.Snapshot.Trust(regions...)
}

// stage runs a stage's fragments at once. Those of this node begin when all others have been asked: what they do in C keeps a processor
// from whoever has something to send.
func (r *run) stage(ctx context.Context, stage *distribute.Stage) error {
	made := make([]ranFragment, len(stage.Fragments))
	group, running := errgroup.WithContext(ctx)
	var asked sync.WaitGroup
	here := func(f *distribute.Fragment) bool { return f.Node == r.session.engine.config.Node }
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

// recovered makes a panic the statement's error, and not the end of a node that others use: a fragment reads other nodes' memory, of which
// this one may not have heard yet that it holds something else by now.
func (r *run) recovered(err *error) {
	if reason := recover(); reason != nil {
		r.session.engine.config.Log.Error("a part of a statement panicked", "reason", reason, "stack", string(debug.Stack()))
		*err = sqlerror.New("XX000", "a part of the statement failed: %v", reason).WithHint("This is a mistake in csmsql; the node's log has the details.")
	}
}

// fragment runs one fragment at its node; here, if that node cannot be reached: it only reads more remotely. ready says that another node
// was asked, or failed to be; before a fragment of this node it waits until all others were.
func (r *run) fragment(ctx, running context.Context, stage *distribute.Stage, f *distribute.Fragment, ready func()) (ranFragment, error) {
	e := r.session.engine
	request, err := r.request(running, stage, f)
	if err != nil {
		return ranFragment{}, err
	}
	attempts := 1
	if f.Node != e.config.Node {
		result, err := r.remotely(ctx, running, request, f.Node, ready)
		if err == nil {
			return ranOn(f.Node, attempts, stage, result)
		}
		if !unreachable(err) || running.Err() != nil {
			return ranFragment{}, err
		}
		e.counts.retried.Add(1)
		e.config.Log.Warn("a node does not run its fragment; it is run here", "node", f.Node, "error", err)
		attempts++
	}
	ready()
	result, err := e.runFragment(running, request)
	if err != nil {
		return ranFragment{}, err
	}
	r.mu.Lock()
	r.local = append(r.local, result.Release)
	r.count(result.Total)
	r.mu.Unlock()
	return ranOn(e.config.Node, attempts, stage, result)
}

func (r *run) remotely(ctx, running context.Context, request noderpc.FragmentRequest, name string, sent func()) (noderpc.FragmentResult, error) {
	e := r.session.engine
	client, err := e.node.Peer(running, name)
	if err != nil {
		return noderpc.FragmentResult{}, err
	}
	e.config.Fault.At(faults.FragmentAsking)
	// A result that is there is let go by release, which a lender hears at once, and not by the statement's context, after which it would
	// keep the result until it is sure that nobody reads it any more.
	bound, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(running, cancel)
	f, err := client.RunFragment(bound, request, noderpc.FragmentOptions{Lends: e.node.Lends(name), Refusals: e.node.Refusals, Sent: sent})
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
func (r *run) count(p noderpc.FragmentProgress) {
	r.fragments++
	r.progress.Rows += p.Rows
	r.progress.BytesLocal += p.BytesLocal
	r.progress.BytesRemote += p.BytesRemote
}

// unreachable tells that the node was not heard, which says nothing about the fragment.
func unreachable(err error) bool {
	var state interface{ SQLState() string }
	if errors.Is(err, catalog.ErrLenderGone) || errors.Is(err, noderpc.ErrNodeGone) || errors.Is(err, noderpc.ErrRestarted) {
		return true
	}
	return errors.As(err, &state) && slices.Contains([]string{"08006", "08001", "57P03", "53000"}, state.SQLState())
}

// sameTypes compares columns by type; names are taken over.
func sameTypes(a, b *arrow.Schema) bool {
	return slices.EqualFunc(a.Fields(), b.Fields(), func(x, y arrow.Field) bool { return arrow.TypeEqual(x.Type, y.Type) })
}
