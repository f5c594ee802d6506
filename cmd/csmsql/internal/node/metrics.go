package node

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/csmsql/csmsql/engine"
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
	metricRegionCapacity = describe("region_capacity_bytes", "Hard cap of a lent region.", "region", "fabric")
	metricRegionUsed     = describe("region_used_bytes", "Bytes of a region in extents.", "region", "fabric")
	metricRegionReserved = describe("region_reserved_bytes", "Bytes of a region that the system backs.", "region", "fabric")
	metricRegionExtents  = describe("region_extents", "Extents of a region.", "region", "fabric")
	metricTableRows      = describe("table_rows", "Rows of a table's current version.", "schema", "table")
	metricTableBytes     = describe("table_bytes", "Bytes of a table's current version.", "schema", "table")
	metricTableChunks    = describe("table_chunks", "Chunks of a table's current version.", "schema", "table")
	metricLeases         = describe("leases", "Snapshots that somebody holds.")
	metricCoherence      = describe("coherence_total", "What the coherence protocol did, by counter and step.", "counter", "step")
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
	gauge(metricLeases, float64(len(status.Leases)))
	for _, s := range status.Counters {
		count(metricCoherence, float64(s.Value), s.Name, s.Step)
	}
}
