package noderpc

import (
	"errors"
	"fmt"
	"math"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/cluster/noderpc/nodepb"
	"github.com/csmsql/csmsql/coherence"
	"github.com/csmsql/csmsql/memregion"
)

func encodeStatus(s Status) *nodepb.StatusResponse {
	n := s.Node
	m := &nodepb.StatusResponse{Node: &nodepb.NodeStatus{
		Name: text(n.Name, maxNameBytes), Version: text(n.Version, maxNameBytes), Started: encodeTime(n.Started), Process: int64(n.Process),
		Catalog: text(n.Catalog, maxNameBytes), Revision: int64(n.Revision), Domain: text(string(n.Domain), maxNameBytes), Frontend: encodeFrontend(n.Frontend),
	}}
	for _, r := range s.Regions {
		m.Regions = append(m.Regions, encodeRegionStatus(r))
	}
	for _, t := range s.Tables {
		m.Tables = append(m.Tables, &nodepb.TableStatus{
			Schema: text(t.Schema, maxNameBytes), Name: text(t.Name, maxNameBytes), Rows: t.Rows, Bytes: t.Bytes, Chunks: t.Chunks, Version: t.Version,
			Missing: t.Missing, Source: text(t.Source, maxTextBytes),
		})
	}
	for _, l := range s.Leases {
		m.Leases = append(m.Leases, &nodepb.LeaseStatus{
			Id: uint64(l.ID), Domain: text(string(l.Domain), maxNameBytes), Holder: text(l.Holder, maxTextBytes),
			Since: encodeTime(l.Since), Expires: encodeTime(l.Expires), Revision: int64(l.Revision),
		})
	}
	for _, h := range s.Holders {
		m.Holders = append(m.Holders, &nodepb.HolderStatus{Holder: text(h.Holder, maxTextBytes), Extents: h.Extents, Bytes: h.Bytes})
	}
	for _, c := range s.Counters {
		m.Counters = append(m.Counters, &nodepb.Counter{Name: text(c.Name, maxNameBytes), Step: text(c.Step, maxNameBytes), Value: c.Value})
	}
	for _, w := range s.Workers {
		m.Workers = append(m.Workers, &nodepb.WorkerStatus{
			Process: int64(w.Process), Started: encodeTime(w.Started), Busy: w.Busy, Statements: w.Statements, Crashes: w.Crashes, Kills: w.Kills,
		})
	}
	for _, o := range s.Overdue {
		m.Overdue = append(m.Overdue, &nodepb.OverdueStatus{
			Session: o.Session, User: text(o.User, maxTextBytes), Text: text(o.Text, maxTextBytes), Since: encodeTime(o.Since), Reason: text(o.Reason, maxTextBytes),
		})
	}
	return m
}

func decodeStatus(m *nodepb.StatusResponse) (Status, error) {
	s, err := decodeStatusParts(m)
	if err != nil {
		return Status{}, badMessage("status: %v", err)
	}
	return s, nil
}

func decodeStatusParts(m *nodepb.StatusResponse) (s Status, err error) {
	for what, n := range map[string]int{"tables": len(m.GetTables()), "leases": len(m.GetLeases()), "counters": len(m.GetCounters()), "holders": len(m.GetHolders()), "workers": len(m.GetWorkers()), "overdue": len(m.GetOverdue())} {
		if n > maxStatusItems {
			return s, fmt.Errorf("%d %s, %d are allowed", n, what, maxStatusItems)
		}
	}
	if s.Node, err = decodeNodeStatus(m.GetNode()); err != nil {
		return s, fmt.Errorf("node: %w", err)
	}
	if s.Regions, err = decodeRegionStatuses(m.GetRegions()); err != nil {
		return s, err
	}
	// Lists are never nil, so that JSON has [] and not null.
	s.Tables = make([]TableStatus, 0, len(m.GetTables()))
	for _, t := range m.GetTables() {
		d, err := decodeTableStatus(t)
		if err != nil {
			return s, fmt.Errorf("table: %w", err)
		}
		s.Tables = append(s.Tables, d)
	}
	s.Leases = make([]LeaseStatus, 0, len(m.GetLeases()))
	for _, l := range m.GetLeases() {
		d, err := decodeLeaseStatus(l)
		if err != nil {
			return s, fmt.Errorf("lease: %w", err)
		}
		s.Leases = append(s.Leases, d)
	}
	s.Counters = make([]Counter, 0, len(m.GetCounters()))
	for _, c := range m.GetCounters() {
		if err := checkLabels(c.GetName(), c.GetStep()); err != nil {
			return s, fmt.Errorf("counter: %w", err)
		}
		s.Counters = append(s.Counters, Counter{Name: c.GetName(), Step: c.GetStep(), Value: c.GetValue()})
	}
	s.Holders = make([]HolderStatus, 0, len(m.GetHolders()))
	for _, h := range m.GetHolders() {
		err := checkText("holder", h.GetHolder(), maxTextBytes)
		if err == nil {
			err = checkCounts(h.GetExtents(), h.GetBytes())
		}
		if err != nil {
			return s, fmt.Errorf("holder: %w", err)
		}
		s.Holders = append(s.Holders, HolderStatus{Holder: h.GetHolder(), Extents: h.GetExtents(), Bytes: h.GetBytes()})
	}
	s.Workers = make([]WorkerStatus, 0, len(m.GetWorkers()))
	for _, w := range m.GetWorkers() {
		if err := checkCounts(w.GetProcess(), w.GetStatements(), w.GetCrashes(), w.GetKills()); err != nil {
			return s, fmt.Errorf("worker: %w", err)
		}
		if w.GetProcess() > math.MaxInt32 {
			return s, fmt.Errorf("worker: no process has the number %d", w.GetProcess())
		}
		s.Workers = append(s.Workers, WorkerStatus{
			Process: int(w.GetProcess()), Started: decodeTime(w.GetStarted()), Busy: w.GetBusy(), Statements: w.GetStatements(),
			Crashes: w.GetCrashes(), Kills: w.GetKills(),
		})
	}
	s.Overdue = make([]OverdueStatus, 0, len(m.GetOverdue()))
	for _, o := range m.GetOverdue() {
		err := errors.Join(checkText("user", o.GetUser(), maxTextBytes), checkText("text", o.GetText(), maxTextBytes), checkText("reason", o.GetReason(), maxTextBytes))
		if err != nil {
			return s, fmt.Errorf("overdue statement: %w", err)
		}
		s.Overdue = append(s.Overdue, OverdueStatus{Session: o.GetSession(), User: o.GetUser(), Text: o.GetText(), Since: decodeTime(o.GetSince()), Reason: o.GetReason()})
	}
	return s, nil
}

func decodeNodeStatus(m *nodepb.NodeStatus) (NodeStatus, error) {
	frontend, err := decodeFrontend(m.GetFrontend())
	if err != nil {
		return NodeStatus{}, err
	}
	if err := checkLabels(m.GetName(), m.GetVersion(), m.GetCatalog(), m.GetDomain()); err != nil {
		return NodeStatus{}, err
	}
	if err := checkCounts(m.GetProcess(), m.GetRevision()); err != nil {
		return NodeStatus{}, err
	}
	if m.GetProcess() > math.MaxInt32 {
		return NodeStatus{}, fmt.Errorf("no process has the number %d", m.GetProcess())
	}
	return NodeStatus{
		Name: m.GetName(), Version: m.GetVersion(), Started: decodeTime(m.GetStarted()), Process: int(m.GetProcess()), Catalog: m.GetCatalog(),
		Revision: catalog.Revision(m.GetRevision()), Domain: coherence.Domain(m.GetDomain()), Frontend: frontend,
	}, nil
}

func decodeRegionStatuses(list []*nodepb.RegionStatus) ([]RegionStatus, error) {
	regions := make([]RegionStatus, 0, len(list))
	specs := make([]memregion.Spec, 0, len(list))
	for _, m := range list {
		spec := decodeRegion(m.GetRegion()).Spec
		if err := checkLabels(m.GetNode()); err != nil {
			return nil, fmt.Errorf("region %d: %w", spec.ID, err)
		}
		if err := checkCounts(m.GetUsed(), m.GetReserved(), m.GetExtents()); err != nil {
			return nil, fmt.Errorf("region %d: %w", spec.ID, err)
		}
		if err := checkText("gone", m.GetGone(), maxTextBytes); err != nil {
			return nil, fmt.Errorf("region %d: %w", spec.ID, err)
		}
		specs = append(specs, spec)
		regions = append(regions, RegionStatus{
			ID: spec.ID, Node: m.GetNode(), Fabric: spec.Fabric, Path: spec.Path, Base: spec.Base, Capacity: spec.Capacity, Start: spec.Start,
			Used: m.GetUsed(), Reserved: m.GetReserved(), Extents: m.GetExtents(), Gone: m.GetGone(),
		})
	}
	return regions, checkSpecs(specs)
}

func decodeTableStatus(m *nodepb.TableStatus) (TableStatus, error) {
	if err := checkNames(m.GetSchema(), m.GetName()); err != nil {
		return TableStatus{}, err
	}
	if err := checkCounts(m.GetRows(), m.GetBytes(), m.GetChunks()); err != nil {
		return TableStatus{}, err
	}
	if err := checkText("source", m.GetSource(), maxTextBytes); err != nil {
		return TableStatus{}, err
	}
	if m.GetMissing() < 0 || m.GetMissing() > m.GetChunks() {
		return TableStatus{}, fmt.Errorf("%d of %d chunks are missing", m.GetMissing(), m.GetChunks())
	}
	return TableStatus{
		Schema: m.GetSchema(), Name: m.GetName(), Rows: m.GetRows(), Bytes: m.GetBytes(), Chunks: m.GetChunks(), Version: m.GetVersion(),
		Missing: m.GetMissing(), Source: m.GetSource(),
	}, nil
}

func decodeLeaseStatus(m *nodepb.LeaseStatus) (LeaseStatus, error) {
	if err := checkText("holder", m.GetHolder(), maxTextBytes); err != nil {
		return LeaseStatus{}, err
	}
	if err := checkLabels(m.GetDomain()); err != nil {
		return LeaseStatus{}, err
	}
	if err := checkCounts(m.GetRevision()); err != nil {
		return LeaseStatus{}, err
	}
	return LeaseStatus{
		ID: catalog.LeaseID(m.GetId()), Domain: coherence.Domain(m.GetDomain()), Holder: m.GetHolder(),
		Since: decodeTime(m.GetSince()), Expires: decodeTime(m.GetExpires()), Revision: catalog.Revision(m.GetRevision()),
	}, nil
}

func checkLabels(labels ...string) error {
	for _, s := range labels {
		if err := checkLabel("name", s); err != nil {
			return err
		}
	}
	return nil
}

func checkNames(names ...string) error {
	for _, s := range names {
		if err := checkText("name", s, maxNameBytes); err != nil {
			return err
		}
	}
	return nil
}
