package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	pg "github.com/pganalyze/pg_query_go/v6"
	"golang.org/x/sync/errgroup"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/descriptor"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/exec/plan"
	"github.com/csmsql/csmsql/exec/plan/distribute"
	"github.com/csmsql/csmsql/memregion"
)

// A statement over tables that lie in several nodes' memory is split by exec/plan/distribute:
//
//	coordinator ── fragment (text, versions, chunks) ──► nodes: run it over their part, write the result into their memory
//	     ▲                                                │
//	     └──────────── descriptors of the results ────────┘     the coordinator reads them in place and finishes
//
// What the planner does not split runs whole here: every byte can be read from here. Where one node holds everything,
// nothing of this is in the plan.

// distributed is how a statement is run by several nodes. Immutable.
type distributed struct {
	*distribute.Distributed
	versions map[*plan.Relation]*catalog.TableVersion
}

// distribute plans a statement for several nodes; nil: it runs whole here, for a reason.
func (s *Session) distribute(text string, tree *pg.ParseResult, v *visible) (*distributed, string) {
	e := s.engine
	switch {
	case e.node == nil || e.node.self == nil || s.fragment:
		return nil, ""
	case s.block != nil && s.block.tx != nil:
		return nil, "the transaction has written"
	case s.settings.distribute == distributeOff:
		return nil, "csm.distribute is off"
	}
	nodes := e.node.online()
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
		return layout
	})
	settings := distribute.DefaultSettings(e.config.Node, nodes, e.threads())
	if s.settings.distribute == distributeAlways {
		settings.MinRows, settings.MinBytes, settings.MinGain = 0, 0, 0
	}
	if e.config.CutOffs != nil {
		e.config.CutOffs(&settings)
	}
	settings.ShuffleBytes = 0 // results are not written in partitions yet
	d, single := distribute.Plan(text, tree, resolver, placement, settings)
	if single != nil {
		return nil, single.Reason
	}
	return &distributed{d, versions}, ""
}

// online lists the nodes that can run a fragment.
func (n *node) online() (names []string) {
	for _, m := range n.catalog.Members() {
		if m.State == catalog.Online {
			names = append(names, m.Name)
		}
	}
	return names
}

// run is one execution of a distributed statement: the results that it has so far.
type run struct {
	session *Session
	plan    *distributed
	view    *visible
	stages  []fragmentStage // encoded, for fragments that read them
	tables  []*catalog.TableVersion

	mu        sync.Mutex // guards what follows
	remote    []*noderpc.FragmentRun
	local     [][]*catalog.Chunk
	progress  noderpc.FragmentProgress
	fragments int64
}

// release lets all results go, wherever they lie.
func (r *run) release() {
	r.session.engine.facts.forget(r.tables...)
	for _, f := range r.remote {
		if err := f.Close(); err != nil {
			r.session.engine.config.Log.Debug("the result of a fragment was gone before it was released", "error", err)
		}
	}
	for _, chunks := range r.local {
		r.session.engine.releaseResult(chunks)
	}
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
		f := r.session.engine.facts.of(v)
		for id := range f.regions {
			regions = append(regions, id)
		}
	}
	return r.view.lease.snapshot.Trust(regions...)
}

// executeDistributed runs the stages and then, over their results, the final text.
func (q *query) executeDistributed(ctx context.Context, v *visible) (*Rows, error) {
	s := q.session
	r := &run{session: s, plan: q.split, view: v}
	for i := range r.plan.Stages {
		if err := r.stage(ctx, &r.plan.Stages[i]); err != nil {
			r.release()
			return nil, err
		}
	}
	lease := &lease{snapshot: v.lease.snapshot, check: r.check}
	lease.users.Store(1)
	outer := v.lease.hold()
	view := s.engine.visible(v.contents.With(r.tables...), lease)
	final, err := s.planDuck(ctx, r.plan.Final.SQL, treeOf(r.plan.Final.SQL), view)
	if err == nil && !sameTypes(final.schema, q.schema) {
		final.close()
		err = fmt.Errorf("engine: the parts of the statement give columns %v, it has %v", final.schema, q.schema)
	}
	var rows *Rows
	if err == nil {
		if rows, err = final.execute(ctx, view, nil); err != nil {
			final.close()
		}
	}
	if err != nil {
		r.release()
		outer.release()
		return nil, withoutPosition(err)
	}
	rows.schema, rows.split = q.schema, r
	// In reverse order: the final text's plan, the results that it read, the tables' lease.
	rows.closers = append([]func(){outer.release, r.release, final.close}, rows.closers...)
	return rows, nil
}

// stage runs a stage's fragments at once.
func (r *run) stage(ctx context.Context, stage *distribute.Stage) error {
	made := make([]noderpc.FragmentResult, len(stage.Fragments))
	group, running := errgroup.WithContext(ctx)
	for i := range stage.Fragments {
		group.Go(func() (err error) {
			// The result lives on after the group's context: it is bound to the statement's.
			made[i], err = r.fragment(ctx, running, stage, &stage.Fragments[i])
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return r.collect(stage, made)
}

// collect makes a HugeTable of a stage's results.
func (r *run) collect(stage *distribute.Stage, made []noderpc.FragmentResult) error {
	f := fragmentStage{Name: distribute.StageName(stage.Number), Columns: made[0].Statistics}
	var chunks []*catalog.Chunk
	for i := range made {
		if !slices.Equal(made[i].Statistics, f.Columns) {
			return fmt.Errorf("engine: fragments of stage %d give columns of different types", stage.Number)
		}
		for _, c := range made[i].Chunks {
			chunks = append(chunks, c)
			f.Chunks = append(f.Chunks, c.Encoded())
		}
	}
	columns, err := descriptor.DecodeSchema(f.Columns)
	if err != nil {
		return err
	}
	table, err := catalog.Collect(stageName(r.session.settings.searchPath, f.Name), nullable(columns), chunks)
	if err != nil {
		return err
	}
	r.stages, r.tables = append(r.stages, f), append(r.tables, table)
	return nil
}

// fragment runs one fragment at its node; here, if that node cannot be reached: it only reads more remotely.
func (r *run) fragment(ctx, running context.Context, stage *distribute.Stage, f *distribute.Fragment) (noderpc.FragmentResult, error) {
	e := r.session.engine
	request, err := r.request(running, stage, f)
	if err != nil {
		return noderpc.FragmentResult{}, err
	}
	if f.Node != e.config.Node {
		result, err := r.remotely(ctx, running, request, f.Node)
		if err == nil || !unreachable(err) || running.Err() != nil {
			return result, err
		}
		e.counts.retried.Add(1)
		e.config.Log.Warn("a node does not run its fragment; it is run here", "node", f.Node, "error", err)
	}
	result, err := e.runFragment(running, request)
	if err != nil {
		return result, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.local = append(r.local, result.Chunks)
	r.count(result.Total)
	return result, nil
}

func (r *run) remotely(ctx, running context.Context, request noderpc.FragmentRequest, name string) (noderpc.FragmentResult, error) {
	e := r.session.engine
	client, err := e.node.peers.get(running, name)
	if err != nil {
		return noderpc.FragmentResult{}, err
	}
	// The result is the statement's, so its context is; a sibling's failure cancels it as well.
	bound, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(running, cancel)
	f, err := client.RunFragment(bound, request, noderpc.FragmentOptions{Lends: e.node.lends(name), Refusals: e.node.refusals})
	if err != nil {
		cancel()
		return noderpc.FragmentResult{}, err
	}
	stop()
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

// request says what a fragment is to do.
func (r *run) request(ctx context.Context, stage *distribute.Stage, f *distribute.Fragment) (noderpc.FragmentRequest, error) {
	payload := fragmentPayload{SearchPath: r.session.settings.searchPath}
	record := catalog.SnapshotRecord{Revision: r.view.contents.Revision(), Schemas: r.view.contents.Schemas()}
	seen := map[*catalog.TableVersion]bool{}
	for _, read := range stage.Reads {
		if read.Relation == nil {
			i := slices.IndexFunc(r.stages, func(s fragmentStage) bool { return s.Name == distribute.StageName(read.Stage) })
			payload.Stages = append(payload.Stages, r.stages[i])
			continue
		}
		version := r.plan.versions[read.Relation]
		if !seen[version] {
			seen[version] = true
			encoded, err := version.Encode()
			if err != nil {
				return noderpc.FragmentRequest{}, err
			}
			record.Tables = append(record.Tables, encoded)
		}
		if read.Part {
			chunks, err := r.session.engine.chunksAt(ctx, version, f.Part)
			if err != nil {
				return noderpc.FragmentRequest{}, err
			}
			payload.Parts = append(payload.Parts, fragmentPart{read.Start, chunks})
		}
	}
	payload.Snapshot = record.Encode()
	encoded, err := json.Marshal(payload)
	return noderpc.FragmentRequest{Query: stage.SQL, Revision: record.Revision, Payload: encoded}, err
}

// sameTypes compares columns by type; names are taken over.
func sameTypes(a, b *arrow.Schema) bool {
	return slices.EqualFunc(a.Fields(), b.Fields(), func(x, y arrow.Field) bool { return arrow.TypeEqual(x.Type, y.Type) })
}
