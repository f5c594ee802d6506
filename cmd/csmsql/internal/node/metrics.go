package node

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/coherence"
	"github.com/csmsql/csmsql/engine"
	"github.com/csmsql/csmsql/internal/tally"
)

var sessionOfHealth = engine.SessionOptions{User: "healthz"}

// collector reads the node's state when it is scraped; nothing is counted twice.
type collector struct{ node *serving }

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("csmsql_"+name, help, labels, nil)
}

var (
	metricInfo           = describe("node_info", "The node, always 1.", "node", "version", "catalog")
	metricRevision       = describe("catalog_revision", "Revision of the catalog: grows with every commit.")
	metricSessions       = describe("sessions", "Open client sessions.")
	metricSessionsTotal  = describe("sessions_opened_total", "Client sessions opened.")
	metricStatements     = describe("statements_total", "Statements executed for clients.")
	metricFailures       = describe("statements_failed_total", "Statements that failed, in preparation or execution.")
	metricOverdue        = describe("statements_overdue", "Statements that the node works on still, though their clients were answered: they were cancelled, or took too long.")
	metricOverdueLimit   = describe("statements_overdue_limit", "How many there may be. Clients of others wait until those end, or there are fewer.")
	metricOverdueTotal   = describe("statements_overdue_total", "How many there have been.")
	metricRowClaims      = describe("row_claims", "Sets of rows that open transactions have changed: others wait for them.")
	metricRowWaits       = describe("row_waits", "Transactions that wait for rows of others now.")
	metricRegionCapacity = describe("region_capacity_bytes", "Hard cap of a lent region.", "region", "fabric")
	metricRegionUsed     = describe("region_used_bytes", "Bytes of a region in extents.", "region", "fabric")
	metricRegionReserved = describe("region_reserved_bytes", "Bytes of a region that the system backs.", "region", "fabric")
	metricRegionExtents  = describe("region_extents", "Extents of a region.", "region", "fabric")
	metricTableRows      = describe("table_rows", "Rows of a table's current version.", "schema", "table")
	metricTableBytes     = describe("table_bytes", "Bytes of a table's current version.", "schema", "table")
	metricTableChunks    = describe("table_chunks", "Chunks of a table's current version.", "schema", "table")
	metricClientMemory   = describe("client_memory_bytes", "What clients make the node keep: messages, statements, plans, portals, answers, rows of COPY.")
	metricClientLimit    = describe("client_memory_limit_bytes", "What clients may make the node keep.")
	metricClientRefused  = describe("client_memory_refused_total", "How often clients were refused more, or plans were dropped first.")
	metricWorkers        = describe("workers", "Processes that run queries in the node's place, by state.", "state")
	metricWorkerCrashes  = describe("worker_crashes_total", "Workers that ended by themselves, with the query that they ran.")
	metricWorkerKills    = describe("worker_kills_total", "Workers that were killed because they did not end a cancelled query.")
	metricWorkerRuns     = describe("worker_statements_total", "Queries that were given to workers, to plan or to run.")
	metricLeases         = describe("leases", "Snapshots that are held.")
	metricRead           = describe("read_bytes_total", "Bytes of chunks that the node has read: in its own memory (local) and in other nodes' (remote).", "where")
	metricRefusedCalls   = describe("rpc_refused_calls_total", "Calls of the node's RPC that were refused, by reason.", "reason")
	metricRefusedBy      = describe("rpc_refused_calls_by_peer_total", "The same by who called and what.", "peer", "call", "reason")
	metricRefusedLines   = describe("rpc_refused_connections_total", "Connections to the node's RPC that were refused, by reason.", "reason")
	metricFragments      = describe("fragments_run_total", "Parts of queries that the node ran, for itself or for others, by outcome.", "outcome")
	metricRetried        = describe("fragments_retried_total", "Parts of queries that the node ran because the one that should have could not be reached.")
	metricPassedOver     = describe("replicas_passed_over_total", "Replicas of chunks that could not be read where another one was.")
	metricRepaired       = describe("replicas_repaired_total", "Chunks whose replicas the node has put right after others were gone, or damaged.")
	metricReloaded       = describe("chunks_reloaded_total", "Lost chunks that the node has rebuilt from the files, the query or the generator that their rows came from.")
	metricFolds          = describe("compaction_folds_total", "Runs of small chunks that the node has made one of.")
	metricFoldedChunks   = describe("compaction_chunks_total", "The chunks that were in them.")
	metricFoldedRows     = describe("compaction_rows_total", "The rows that were rewritten for it.")
	metricFoldedAway     = describe("compaction_deleted_rows_total", "The deleted rows that were left out.")
	metricFoldedBytes    = describe("compaction_read_bytes_total", "The bytes that those chunks had.")
	metricFoldFailures   = describe("compaction_failures_total", "How often a table's chunks could not be folded.")
	metricStrays         = describe("region_strays_total", "Unowned extents of the node's region: in no table's version, and no session's, load's, or other node's.")
	metricStraysBack     = describe("region_strays_taken_back_total", "Those of them that the node has taken back.")
	metricStrayBytes     = describe("region_stray_bytes", "Bytes of the node's region that are unowned now.")
	metricHeldTooLong    = describe("region_held_too_long_total", "Extents that a session, a load or the like still held when it ended.")
	metricMembers        = describe("cluster_members", "Nodes of the cluster as this one sees it, by state.", "state")
	metricMember         = describe("cluster_member_info", "A node of the cluster, always 1.", "member", "state")
	metricCommits        = describe("etcd_commits_total", "Commits to etcd, by outcome.", "outcome")
	metricRenewals       = describe("etcd_session_renewals_total", "Renewals of the node's session in etcd, by outcome.", "outcome")
	metricCommitSeconds  = describe("etcd_commit_seconds", "How long etcd took to answer a commit.")
	metricCommitGroup    = describe("commit_group_transactions", "Transactions that were committed together.")
	metricInsertGroup    = describe("insert_group_transactions", "Transactions whose rows became one chunk together.")
	metricHandedOver     = describe("inserts_handed_over_total",
		"INSERTs whose rows another node was given to commit: it has, or that had to be found out.", "outcome")
	metricCoherence = describe("coherence_total", "What the coherence protocol did, by counter and step.", "counter", "step")
)

// Describe implements prometheus.Collector: the metrics come as they are.
func (c *collector) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (c *collector) Collect(out chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	count := func(d *prometheus.Desc, value float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, value, labels...)
	}
	status := c.node.engine.Status(c.node.frontend)
	gauge(metricInfo, 1, status.Node.Name, status.Node.Version, status.Node.Catalog)
	gauge(metricRevision, float64(status.Node.Revision))
	seen := c.node.backend.Counts()
	gauge(metricSessions, float64(seen.Open))
	count(metricSessionsTotal, float64(seen.Opened))
	count(metricStatements, float64(seen.Executed))
	count(metricFailures, float64(seen.Failed))
	late := c.node.engine.Overdue().Usage()
	gauge(metricOverdue, float64(late.Now))
	gauge(metricOverdueLimit, float64(late.Most))
	count(metricOverdueTotal, float64(late.Total))
	locks := c.node.engine.RowLocks()
	gauge(metricRowClaims, float64(locks.Claims))
	gauge(metricRowWaits, float64(locks.Waiting))
	for _, r := range status.Regions {
		region := strconv.FormatUint(uint64(r.ID), 10)
		gauge(metricRegionCapacity, float64(r.Capacity), region, string(r.Fabric))
		gauge(metricRegionUsed, float64(r.Used), region, string(r.Fabric))
		gauge(metricRegionReserved, float64(r.Reserved), region, string(r.Fabric))
		gauge(metricRegionExtents, float64(r.Extents), region, string(r.Fabric))
	}
	for _, t := range status.Tables {
		gauge(metricTableRows, float64(t.Rows), t.Schema, t.Name)
		gauge(metricTableBytes, float64(t.Bytes), t.Schema, t.Name)
		gauge(metricTableChunks, float64(t.Chunks), t.Schema, t.Name)
	}
	memory := c.node.engine.Memory()
	gauge(metricClientMemory, float64(memory.Used))
	gauge(metricClientLimit, float64(memory.Most))
	count(metricClientRefused, float64(memory.Refused))
	c.workers(gauge, count, status.Workers)
	gauge(metricLeases, float64(len(status.Leases)))
	for _, s := range status.Counters {
		count(metricCoherence, float64(s.Value), s.Name, s.Step)
	}
	c.figures(gauge, count, out)
}

// workers are counted if the node is to have some.
func (c *collector) workers(gauge, count sampler, list []noderpc.WorkerStatus) {
	if len(list) == 0 {
		return
	}
	states := map[string]int{"busy": 0, "idle": 0, "starting": 0}
	var crashes, kills, statements int64
	for _, w := range list {
		switch {
		case w.Process == 0:
			states["starting"]++
		case w.Busy:
			states["busy"]++
		default:
			states["idle"]++
		}
		crashes, kills, statements = crashes+w.Crashes, kills+w.Kills, statements+w.Statements
	}
	for state, n := range states {
		gauge(metricWorkers, float64(n), state)
	}
	count(metricWorkerCrashes, float64(crashes))
	count(metricWorkerKills, float64(kills))
	count(metricWorkerRuns, float64(statements))
}

type sampler func(d *prometheus.Desc, value float64, labels ...string)

// figures are what the engine has counted: of reading, of refusals, of its cluster.
func (c *collector) figures(gauge, count sampler, out chan<- prometheus.Metric) {
	f := c.node.engine.Figures()
	count(metricRead, float64(f.BytesLocal), "local")
	count(metricRead, float64(f.BytesRemote), "remote")
	f.Refusals.Each(func(s coherence.Sample) {
		d := metricRefusedCalls
		if s.Name == "rpc_refused_connections_total" {
			d = metricRefusedLines
		}
		count(d, float64(s.Value), s.Step)
	})
	for kind, n := range f.Refusals.By() {
		count(metricRefusedBy, float64(n), kind.Peer, kind.Call, string(kind.Reason))
	}
	count(metricReloaded, float64(f.ChunksReloaded))
	count(metricFolds, float64(f.Compactions.Folds))
	count(metricFoldedChunks, float64(f.Compactions.Chunks))
	count(metricFoldedRows, float64(f.Compactions.Rows))
	count(metricFoldedAway, float64(f.Compactions.LeftOut))
	count(metricFoldedBytes, float64(f.Compactions.Bytes))
	count(metricFoldFailures, float64(f.Compactions.Failures))
	count(metricStrays, float64(f.Strays))
	count(metricStraysBack, float64(f.StraysTakenBack))
	gauge(metricStrayBytes, float64(f.StrayBytes))
	if f.Commits != nil {
		out <- groupSizes(metricCommitGroup, f.Commits)
		out <- groupSizes(metricInsertGroup, f.Inserts)
		count(metricHandedOver, float64(f.HandedOver), "committed")
		count(metricHandedOver, float64(f.Settled), "settled")
	}
	count(metricHeldTooLong, float64(f.HeldTooLong))
	if f.Cluster == nil {
		return
	}
	count(metricPassedOver, float64(f.ReplicasPassedOver))
	count(metricRepaired, float64(f.ReplicasRepaired))
	count(metricFragments, float64(f.FragmentsRun-f.FragmentsFailed), "done")
	count(metricFragments, float64(f.FragmentsFailed), "failed")
	count(metricRetried, float64(f.FragmentsRetried))
	states := map[catalog.MemberState]int{catalog.Joining: 0, catalog.Online: 0, catalog.Draining: 0}
	for _, m := range f.Cluster.Members {
		states[m.State]++
		gauge(metricMember, 1, m.Name, m.State.String())
	}
	for state, n := range states {
		gauge(metricMembers, float64(n), state.String())
	}
	e := f.Cluster.Etcd
	count(metricCommits, float64(e.Commits), "done")
	count(metricCommits, float64(e.Conflicts), "conflict")
	count(metricCommits, float64(e.Unknown), "unknown")
	count(metricRenewals, float64(e.Renewals), "done")
	count(metricRenewals, float64(e.FailedRenewals), "failed")
	within := map[float64]uint64{}
	for i, bound := range e.Latency.Bounds {
		within[bound.Seconds()] = uint64(e.Latency.Within[i])
	}
	out <- prometheus.MustNewConstHistogram(metricCommitSeconds, uint64(e.Latency.Count), e.Latency.Sum.Seconds(), within)
}

func groupSizes(d *prometheus.Desc, s *tally.Sizes) prometheus.Metric {
	within := map[float64]uint64{}
	s.Each(func(bound, groups int64) { within[float64(bound)] = uint64(groups) })
	return prometheus.MustNewConstHistogram(d, uint64(s.Groups()), float64(s.Members()), within)
}
