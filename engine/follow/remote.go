package follow

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// TablesMost is how many tables a process that is attached to a node follows at once.
const TablesMost = 1000

// remotePause is how long to wait before what a node did not answer is asked again.
const remotePause = 100 * time.Millisecond

// Remote notifies watches of what a node answers to one call for all of them. Safe for concurrent use.
type Remote struct {
	await Await // of the node
	begin sync.Once
	end   context.CancelCauseFunc
	ctx   context.Context
	loop  sync.WaitGroup

	mu    sync.Mutex // guards what follows, and watch.saw
	all   watches[catalog.TableID]
	asked context.CancelFunc // ends the call under way; another one begins
}

// Await is Hub.Await at the node. It may return nothing after a while.
type Await func(ctx context.Context, seen map[catalog.TableID]uint64) ([]catalog.TableID, error)

// NewRemote is a remote whose loop runs from its first watch on.
func NewRemote(await Await) *Remote {
	ctx, end := context.WithCancelCause(context.Background())
	return &Remote{await: await, ctx: ctx, end: end, asked: func() {}, all: watches[catalog.TableID]{}}
}

// watch implements Source.
func (r *Remote) watch(id catalog.TableID, tell Tell) (saw func(*catalog.TableVersion), stop func(), err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if cause := context.Cause(r.ctx); cause != nil {
		return nil, nil, cause
	}
	if len(r.all) >= TablesMost && r.all[id] == nil {
		return nil, nil, errTooMany
	}
	r.begin.Do(func() { r.loop.Go(r.run) })
	w := &watch{tell: tell}
	r.all.add(id, w)
	saw = func(v *catalog.TableVersion) {
		r.mu.Lock()
		defer r.mu.Unlock()
		w.saw = v.Version()
		r.asked()
	}
	stop = func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.all.remove(id, w)
	}
	return saw, stop, nil
}

// name implements Source. No session listens through an engine that is attached: it serves no clients.
func (r *Remote) name(catalog.TableName, Tell) (stop func(), err error) {
	return nil, sqlerror.New("0A000", "LISTEN is for clients of the node")
}

// look implements Source: there is nothing to see here.
func (r *Remote) look() (moved <-chan struct{}, ended error) { return nil, nil }

// run is the loop.
func (r *Remote) run() {
	for r.ctx.Err() == nil {
		ctx, seen := r.ask()
		if len(seen) == 0 {
			<-ctx.Done()
			continue
		}
		changed, err := r.await(ctx, seen)
		switch {
		case err == nil:
			r.tell(changed, seen)
		case ctx.Err() == nil:
			r.failed(seen)
		}
	}
}

// ask returns the next call: the versions that waiting watches have seen, the oldest of each table.
func (r *Remote) ask() (context.Context, map[catalog.TableID]uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked()
	ctx, cancel := context.WithCancel(r.ctx)
	r.asked = cancel
	seen := map[catalog.TableID]uint64{}
	for id, those := range r.all {
		for w := range those {
			if w.saw > 0 && (seen[id] == 0 || w.saw < seen[id]) {
				seen[id] = w.saw
			}
		}
	}
	return ctx, seen
}

// tell notifies the watches that have seen another version. Their followers look, and say what they have seen then.
func (r *Remote) tell(changed []catalog.TableID, seen map[catalog.TableID]uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, id := range changed {
		for w := range r.all[id] {
			if w.saw == seen[id] {
				w.saw = 0
				w.tell(nil, nil)
			}
		}
	}
}

// failed has waiting followers look for themselves whether the node is there: the error that they get is the one to
// report. It waits a moment.
func (r *Remote) failed(seen map[catalog.TableID]uint64) {
	r.tell(slices.Collect(maps.Keys(seen)), seen)
	pause := time.NewTimer(remotePause)
	defer pause.Stop()
	select {
	case <-pause.C:
	case <-r.ctx.Done():
	}
}

// Await implements Source: it is the node's to say.
func (r *Remote) Await(ctx context.Context, seen map[catalog.TableID]uint64) ([]catalog.TableID, error) {
	return r.await(ctx, seen)
}

// Close implements Source.
func (r *Remote) Close(why error) {
	r.end(why)
	r.loop.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all.end(why)
}

// Watched implements Source: what is written here is written at the node.
func (r *Remote) Watched() bool { return false }
