package service

import (
	"context"
	"os"
	"time"

	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/coherence"
	"github.com/csmsql/csmsql/engine/member"
	"github.com/csmsql/csmsql/engine/overdue"
	"github.com/csmsql/csmsql/engine/upkeep"
	"github.com/csmsql/csmsql/engine/worker"
)

// Status says how the node is; of one that is closed, only which it was.
func (s *Service) Status(frontend noderpc.Frontend) noderpc.Status {
	st := noderpc.Status{Node: noderpc.NodeStatus{
		Name: s.Name, Version: Version, Started: s.Started, Process: os.Getpid(), Domain: member.LocalDomain, Frontend: frontend,
	}}
	if s.Node == nil || s.Life.Enter() != nil {
		return st
	}
	defer s.Life.Leave()
	st.Node.Catalog, st.Node.Revision = s.Node.Catalog.Identity(), s.Node.Catalog.Revision()
	region, spec := s.Node.Lent.Stats(), s.Node.Region
	st.Regions = []noderpc.RegionStatus{{
		ID: spec.ID, Node: s.Name, Fabric: spec.Fabric, Path: spec.Path, Base: spec.Base, Capacity: spec.Capacity, Start: spec.Start,
		Used: region.Used, Reserved: region.Backed, Extents: int64(region.Extents),
	}}
	st.Holders = s.Node.Holders()
	for _, record := range s.Node.Catalog.Regions() {
		if reason := s.Node.Reader.Lost(record.ID); reason != nil {
			st.Regions = append(st.Regions, noderpc.RegionStatus{
				ID: record.ID, Node: record.Node, Fabric: record.Fabric, Path: record.Path, Base: record.Base, Capacity: record.Capacity, Start: record.Start,
				Gone: reason.Error(),
			})
		}
	}
	st.Tables = s.tableStatus()
	for _, l := range s.Node.Catalog.Leases() {
		st.Leases = append(st.Leases, noderpc.LeaseStatus{
			ID: l.ID, Domain: l.Holder.Domain, Holder: l.Holder.Description, Since: l.Since, Expires: l.Expires, Revision: l.Revision,
		})
	}
	s.Node.Reader.Counters().Each(func(c coherence.Sample) {
		st.Counters = append(st.Counters, noderpc.Counter{Name: c.Name, Step: c.Step, Value: c.Value})
	})
	s.Statements.AddWork(&st)
	return st
}

// tableStatus are the tables as this node last heard of them: a status is wanted most when etcd does not answer, and
// must not wait for it.
func (s *Service) tableStatus() (list []noderpc.TableStatus) {
	patience := 5 * time.Second
	if s.Node.Self != nil && s.Node.Catalog.Standing() != nil {
		patience = member.Patience / 2
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	_ = s.Node.Catalog.SealDeltas(ctx) // else rows that wait are not counted, and a query says why
	for _, v := range s.Node.Catalog.Applied().Tables() {
		name := v.Table().Name
		lost, err := s.Keeper.Lost(ctx, v, upkeep.Unreadable)
		if err != nil {
			lost = nil // a query of the table reports it
		}
		list = append(list, noderpc.TableStatus{
			Schema: name.Schema, Name: name.Name, Rows: v.Rows(), Bytes: v.Bytes(), Chunks: int64(v.NumChunks()), Version: v.Version(),
			Missing: int64(len(lost)), Source: upkeep.SourcesOf(v),
		})
	}
	return list
}

// AddWork adds statements that are overdue, and workers, to a status.
func AddWork(status *noderpc.Status, late []overdue.Statement, workers []worker.Status) {
	for _, o := range late {
		status.Overdue = append(status.Overdue, noderpc.OverdueStatus{
			Session: o.Session, User: o.User, Text: o.Text, Since: o.Since, Reason: o.Reason,
		})
	}
	for _, w := range workers {
		status.Workers = append(status.Workers, noderpc.WorkerStatus{
			Process: w.Process, Started: w.Started, Busy: w.Busy, Statements: w.Statements, Crashes: w.Crashes, Kills: w.Kills,
		})
	}
}
