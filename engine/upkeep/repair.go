package upkeep

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/internal/faults"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// Missing replicas are rebuilt in the background:
//
//	n2 dies ─ session ends ─ RepairAfter ─► another node makes what n2 had, at nodes that do not have it ─► n2 comes back: that goes again
//
// A chunk without a replica is rebuilt from where its rows came, if that is on record (see reload).
//
// Every node looks now and then, and knows for itself which nodes have been away for long. Of the nodes that are there
// one does it for each table, so that it is not done twice; if two think that it is them, one commit succeeds (K5). A
// node repairs the damage that it has found itself: the others do not know of it.

// repairer is a node's part in that. For one goroutine.
type repairer struct {
	keeper *Keeper
	// fine are the tables that had all their replicas, in that version, among those nodes.
	fine map[catalog.TableID]fineTable
	// refused are those that could not be reloaded, with when to try again.
	refused    map[catalog.TableID]time.Time
	lastLogged string // the last trouble that was logged
}

type fineTable struct {
	version uint64 // its number: the version itself would be kept, and all that it has
	nodes   string
}

// How often a node looks: some times until another node counts as gone, but not too often and not too seldom.
const (
	looksUntilGone = 4
	looksSeldom    = 15 * time.Second
	looksOften     = 20 * time.Millisecond

	tablesRemembered = 4096
)

// Repairs reports whether there is anything for Repair to do.
func (k *Keeper) Repairs() bool { return k.node != nil && k.node.Self != nil && k.repairAfter >= 0 }

// Repair looks after all tables until ctx ends. Preconditions: Repairs.
func (k *Keeper) Repair(ctx context.Context) {
	r := &repairer{keeper: k, fine: map[catalog.TableID]fineTable{}, refused: map[catalog.TableID]time.Time{}}
	tick := time.NewTicker(min(max(k.repairAfter/looksUntilGone, looksOften), looksSeldom))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			r.look(ctx, now)
		}
	}
}

// look does what is to be done now.
func (r *repairer) look(ctx context.Context, now time.Time) {
	k := r.keeper
	var known, present []string
	for _, region := range k.catalog.Regions() {
		known = append(known, region.Node)
	}
	for _, m := range k.catalog.Members() {
		if m.State != catalog.Joining {
			present = append(present, m.Name)
		}
	}
	for _, name := range k.node.Absence.Observe(now, known, present) {
		k.log.Warn("a node has been away for long; what it had is rebuilt elsewhere", "node", name)
	}
	online := k.node.Online()
	me := slices.Index(online, k.name)
	if me < 0 {
		return // drained, or fenced off
	}
	nodes := r.nodes(known)
	damaged := k.reader.Damage().Tables()
	lost := k.anyLost()
	var trouble error
	var reload []*catalog.TableVersion // when all replicas are made: to read files takes its time
	for _, v := range k.catalog.Applied().Tables() {
		t := v.Table()
		mine := uint64(t.ID)%uint64(len(online)) == uint64(me)
		reloads := lost && len(v.Origins()) > 0
		if t.Replicas == 0 && !reloads || !mine && !damaged[t.Name] || r.fine[t.ID] == (fineTable{v.Version(), nodes}) {
			continue
		}
		var err error
		if t.Replicas > 0 {
			err = r.repair(ctx, t.Name)
		}
		if ctx.Err() != nil {
			return
		}
		if err == nil && reloads {
			reload = append(reload, v)
			continue
		}
		trouble = errors.Join(trouble, r.done(v, nodes, err))
	}
	for _, v := range reload {
		if now.Before(r.refused[v.Table().ID]) {
			continue
		}
		err := r.reload(ctx, v.Table(), now)
		if ctx.Err() != nil {
			return
		}
		trouble = errors.Join(trouble, r.done(v, nodes, err))
	}
	if len(r.fine) > tablesRemembered {
		clear(r.fine)
	}
	if len(r.refused) > tablesRemembered {
		clear(r.refused)
	}
	r.tell(trouble)
}

// done remembers a table that is fine among those nodes, and gives the trouble with one that is not.
func (r *repairer) done(v *catalog.TableVersion, nodes string, err error) error {
	switch {
	case err == nil:
		r.fine[v.Table().ID] = fineTable{v.Version(), nodes}
	case !errors.Is(err, catalog.ErrConflict): // which is for the next time
		return fmt.Errorf("table %v: %w", v.Table().Name, err)
	}
	return nil
}

// reloadAgain is how long a table is left alone whose source was not what it was: to look reads it.
const reloadAgain = 10 * time.Minute

// reload rebuilds chunks that are not waited for any more.
func (r *repairer) reload(ctx context.Context, t catalog.Table, now time.Time) error {
	_, err := r.keeper.Reload(ctx, t.Name, givenUp)
	if pgError := (*sqlerror.Error)(nil); errors.As(err, &pgError) && pgError.State == "58000" {
		r.refused[t.ID] = now.Add(reloadAgain)
	}
	return err
}

// nodes is what the worth of replicas depends on beside the table's version.
func (r *repairer) nodes(known []string) string {
	k := r.keeper
	var b strings.Builder
	for _, m := range k.catalog.Members() {
		fmt.Fprintf(&b, "%s %v %d;", m.Name, m.State, m.Registered)
	}
	for _, name := range known {
		fmt.Fprintf(&b, "%s %v;", name, k.node.Absence.Long(name))
	}
	fmt.Fprintf(&b, "%d", k.reader.Damage().Found())
	return b.String()
}

// tell logs trouble that differs from the last one.
func (r *repairer) tell(trouble error) {
	text := ""
	if trouble != nil {
		text = trouble.Error()
	}
	if text != r.lastLogged && trouble != nil {
		r.keeper.log.Warn("replicas, or lost chunks, cannot be made", "error", trouble)
	}
	r.lastLogged = text
}

// repairConflicts bounds how often a repair of one table begins again because it was written meanwhile.
const repairConflicts = 20

// repair makes a table's replicas what they are to be, step by step. After a conflict the steps are smaller, so
// that a table that others write to all the time has its turn, too.
func (r *repairer) repair(ctx context.Context, name catalog.TableName) error {
	k := r.keeper
	full := map[string]bool{}
	var left error // why some cannot be made
	for most, conflicts := int64(moveBytes), 0; ; {
		m, err := k.missing(ctx, name, full)
		if err != nil || m == nil || len(m.list) == 0 {
			return errors.Join(err, left)
		}
		step := m.next(most)
		k.fault.At(faults.RepairBegin)
		done, err := k.moveStep(ctx, name, step)
		switch {
		case err == nil:
			k.repaired.Add(done.chunks)
			k.log.Info("replicas were put right", "table", name.String(), "chunks", done.chunks, "bytes", done.bytes, "left", len(m.list)-len(step))
			k.fault.At(faults.RepairStep)
			continue
		case errors.Is(err, catalog.ErrConflict) && conflicts < repairConflicts:
			conflicts++
			most = max(most/2, 1)
			continue
		}
		var space *noSpace
		if !errors.As(err, &space) || full[space.node] {
			return err
		}
		full[space.node], left = true, err // another node may have room
	}
}

// missing lists what is wrong with a table's replicas now, and can be put right without the nodes that are full.
func (k *Keeper) missing(ctx context.Context, name catalog.TableName, full map[string]bool) (*moves, error) {
	snapshot, err := k.catalog.Snapshot(ctx, catalog.Holder{Description: "repair " + name.String()})
	if err != nil {
		return nil, err
	}
	defer snapshot.Close()
	v, ok := snapshot.Table(name)
	if !ok {
		return nil, nil
	}
	online := slices.DeleteFunc(k.node.Online(), func(n string) bool { return full[n] })
	return k.mending(ctx, v, max(v.Table().Replicas, 1), online)
}

// noSpace is the error of a node whose memory is full.
type noSpace struct {
	node string
	error
}

func (e *noSpace) Unwrap() error { return e.error }

// spaceError marks an error of a space that says that it is full.
func spaceError(node string, err error) error {
	var pgError interface{ SQLState() string }
	if errors.As(err, &pgError) && pgError.SQLState() == "53200" {
		return &noSpace{node, err}
	}
	return err
}
