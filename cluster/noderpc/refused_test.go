package noderpc

import (
	"log/slog"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/cluster/noderpc/nodepb"
	"github.com/csmsql/csmsql/cluster/noderpc/refusal"
	"github.com/csmsql/csmsql/memregion"
)

const escape = "\x1b[2J"

var (
	longName = strings.Repeat("n", maxNameBytes+1)
	longText = strings.Repeat("t", maxTextBytes+1)
)

// failed is the error of decoding or checking.
func failed[M, T any](decode func(M) (T, error)) func(M) error {
	return func(m M) error {
		_, err := decode(m)
		return err
	}
}

// refuse: each of the messages is refused, and says so.
func refuse[M any](t *testing.T, decode func(M) error, says string, messages ...M) {
	t.Helper()
	for i, m := range messages {
		require.ErrorContains(t, decode(m), says, "message %d", i)
	}
}

// N5: what a node says of itself, field by field.
func TestStatusesThatAreRefused(t *testing.T) {
	const control, count = "control characters", "a count is -1"
	type status = nodepb.StatusResponse
	decode := failed(decodeStatus)
	refuse(t, decode, "1048576 are allowed", &status{Tables: make([]*nodepb.TableStatus, maxStatusItems+1)},
		&status{Leases: make([]*nodepb.LeaseStatus, maxStatusItems+1)}, &status{Counters: make([]*nodepb.Counter, maxStatusItems+1)}, &status{Holders: make([]*nodepb.HolderStatus, maxStatusItems+1)})
	refuse(t, decode, "holder", &status{Holders: []*nodepb.HolderStatus{{Holder: strings.Repeat("x", maxTextBytes+1)}}}, &status{Holders: []*nodepb.HolderStatus{{Bytes: -1}}}, &status{Holders: []*nodepb.HolderStatus{{Extents: -1}}})
	refuse(t, decode, control, &status{Counters: []*nodepb.Counter{{Name: escape}}}, &status{Counters: []*nodepb.Counter{{Step: escape}}})
	for _, n := range []*nodepb.NodeStatus{{Name: escape}, {Version: escape}, {Catalog: escape}, {Domain: escape}} {
		refuse(t, decode, control, &status{Node: n})
	}
	refuse(t, decode, "255 are allowed", &status{Node: &nodepb.NodeStatus{Name: longName}})
	refuse(t, decode, count, &status{Node: &nodepb.NodeStatus{Process: -1}}, &status{Node: &nodepb.NodeStatus{Revision: -1}})
	region := encodeRegion(Region{Spec: goodSpec()})
	for says, list := range map[string][]*nodepb.RegionStatus{
		control: {{Node: escape}}, count: {{Used: -1}, {Reserved: -1}, {Extents: -1}}, "gone has 4097": {{Gone: longText}},
	} {
		for _, m := range list {
			m.Region = region
			refuse(t, decode, says, &status{Regions: []*nodepb.RegionStatus{m}})
		}
	}
	for says, list := range map[string][]*nodepb.TableStatus{
		"name has 256": {{Schema: longName}, {Name: longName}}, count: {{Rows: -1}, {Bytes: -1}, {Chunks: -1, Missing: -1}}, "source has": {{Source: longText}},
		"chunks are missing": {{Missing: -1}, {Missing: 1}},
	} {
		for _, m := range list {
			refuse(t, decode, says, &status{Tables: []*nodepb.TableStatus{m}})
		}
	}
	refuse(t, failed(decodeProgress), count, &nodepb.Progress{Rows: -1}, &nodepb.Progress{RowsTotal: -1}, &nodepb.Progress{Bytes: -1}, &nodepb.Progress{BytesTotal: -1})
	refuse(t, failed(decodeResult), count, &nodepb.LoadResult{Rows: -1}, &nodepb.LoadResult{Bytes: -1}, &nodepb.LoadResult{Chunks: -1}, &nodepb.LoadResult{Revision: -1})

	type verified = nodepb.VerifyResult
	refuse(t, failed(decodeVerified), count, &verified{Tables: -1}, &verified{Chunks: -1}, &verified{Replicas: -1}, &verified{Bytes: -1}, &verified{More: -1})
	refuse(t, failed(decodeVerified), "10000 are allowed", &verified{Damaged: make([]*nodepb.DamagedReplica, MaxDamaged+1)})
	for says, list := range map[string][]*nodepb.DamagedReplica{
		"name has 256": {{Table: &nodepb.TableName{Schema: longName}}, {Table: &nodepb.TableName{Name: longName}}}, count: {{Chunk: -1}, {FirstRow: -1}, {Rows: -1}},
		control: {{Node: escape}}, "reason has": {{Reason: longText}},
	} {
		for _, m := range list {
			refuse(t, failed(decodeVerified), says, &verified{Damaged: []*nodepb.DamagedReplica{m}})
		}
	}
}

// N5: what a node says of its cluster.
func TestClusterStatusesThatAreRefused(t *testing.T) {
	const control, count = "control characters", "a count is -1"
	type status = nodepb.ClusterStatusResponse
	decode := failed(decodeCluster)
	refuse(t, decode, "are too many", &status{Nodes: make([]*nodepb.ClusterNode, maxMembers+1)}, &status{Etcd: make([]*nodepb.EtcdMember, maxMembers+1)},
		&status{Tables: make([]*nodepb.ClusterTable, maxStatusItems+1)})
	refuse(t, decode, control, &status{Node: escape})
	refuse(t, decode, "trouble has", &status{Trouble: longText})
	for says, list := range map[string][]*nodepb.ClusterNode{
		control: {{Name: escape}, {State: escape}}, "node: text has": {{Address: longText}, {Frontend: longText}, {Trouble: longText}}, count: {{Chunks: -1}, {Bytes: -1}},
		"base 0x0": {{Regions: []*nodepb.RegionStatus{nil}}},
	} {
		for _, m := range list {
			refuse(t, decode, says, &status{Nodes: []*nodepb.ClusterNode{m}})
		}
	}
	part := func(p *nodepb.ClusterPart) *nodepb.ClusterTable {
		return &nodepb.ClusterTable{Parts: []*nodepb.ClusterPart{p}}
	}
	for says, list := range map[string][]*nodepb.ClusterTable{
		"name has 256": {{Schema: longName}, {Name: longName}}, "placement has": {{Placement: longText}}, control: {part(&nodepb.ClusterPart{Node: escape})},
		count:        {{Rows: -1}, {Bytes: -1}, {Chunks: -1, Incomplete: -1}, part(&nodepb.ClusterPart{Rows: -1}), part(&nodepb.ClusterPart{Bytes: -1}), part(&nodepb.ClusterPart{Chunks: -1})},
		"have fewer": {{Replicas: -1}, {Replicas: maxReplicas + 1}, {Incomplete: -1}, {Incomplete: 2, Chunks: 1}},
		"it lies at": {{Parts: make([]*nodepb.ClusterPart, maxMembers+1)}},
	} {
		for _, m := range list {
			refuse(t, decode, says, &status{Tables: []*nodepb.ClusterTable{m}})
		}
	}
	many := make([]string, maxMembers+1)
	for says, list := range map[string][]*nodepb.EtcdMember{
		control: {{Name: escape}, {Version: escape}}, "4097 addresses": {{Clients: many}, {Peers: many}}, count: {{Bytes: -1}},
		"text has": {{Clients: []string{longText}}, {Peers: []string{longText}}, {Trouble: longText}},
	} {
		for _, m := range list {
			refuse(t, decode, says, &status{Etcd: []*nodepb.EtcdMember{m}})
		}
	}
}

// N5: what a node says of itself to processes that attach.
func TestDescriptionsThatAreRefused(t *testing.T) {
	good := func() *nodepb.Description { return &nodepb.Description{LeaseTtl: int64(time.Second)} }
	_, err := decodeDescription(good())
	require.NoError(t, err)
	for says, list := range map[string][]func(*nodepb.Description){
		"control characters": {
			func(d *nodepb.Description) { d.Node = escape }, func(d *nodepb.Description) { d.Catalog = escape }, func(d *nodepb.Description) { d.Domain = escape },
			func(d *nodepb.Description) { d.Version = escape }, func(d *nodepb.Description) { d.Frontend = &nodepb.Frontend{Address: escape + ":5"} },
		},
		"not between":  {func(d *nodepb.Description) { d.LeaseTtl = 1 }, func(d *nodepb.Description) { d.LeaseTtl = math.MaxInt64 }},
		"not absolute": {func(d *nodepb.Description) { d.Frontend = &nodepb.Frontend{SocketDirectory: []byte("here")} }},
		"no host:port": {func(d *nodepb.Description) { d.Frontend = &nodepb.Frontend{Address: "here"} }},
		"base 0x0":     {func(d *nodepb.Description) { d.Regions = []*nodepb.Region{nil} }},
	} {
		for _, alter := range list {
			d := good()
			alter(d)
			refuse(t, failed(decodeDescription), says, d)
		}
	}
}

// N5: what a caller asks of a node.
func TestRequestsThatAreRefused(t *testing.T) {
	refuse(t, failed(decodeHolder), "control characters", &nodepb.LeaseRequest{Domain: escape})
	refuse(t, failed(decodeHolder), "description has", &nodepb.LeaseRequest{Description: longText})
	refuse(t, failed(decodeHolder), "not between", &nodepb.LeaseRequest{Ttl: 1}, &nodepb.LeaseRequest{Ttl: -1})
	refuse(t, failed(decodeHolder), "negative", &nodepb.LeaseRequest{MaxAge: -1})

	check := func(r LoadRequest) error { return r.check() }
	load := func(alter func(*LoadRequest)) LoadRequest {
		r := LoadRequest{Table: catalog.TableName{Name: "t"}, Files: []string{"/f"}, Options: LoadOptions{Mode: LoadCreate}}
		alter(&r)
		return r
	}
	require.NoError(t, check(load(func(*LoadRequest) {})))
	for says, alter := range map[string]func(*LoadRequest){
		"schema has":    func(r *LoadRequest) { r.Table.Schema = longName },
		"table has":     func(r *LoadRequest) { r.Table.Name = longName },
		"format has":    func(r *LoadRequest) { r.Format = longName },
		"placement has": func(r *LoadRequest) { r.Options.Placement = longText },
		"no table":      func(r *LoadRequest) { r.Table.Name = "" },
		"no file":       func(r *LoadRequest) { r.Files = nil },
		"65537 files":   func(r *LoadRequest) { r.Files = make([]string, maxFiles+1) },
		"load mode 0":   func(r *LoadRequest) { r.Options.Mode = 0 },
		"load mode 99":  func(r *LoadRequest) { r.Options.Mode = 99 },
		`format "tar"`:  func(r *LoadRequest) { r.Format = "tar" },
		"-1 replicas":   func(r *LoadRequest) { r.Options.Replicas = -1 },
		"33 replicas":   func(r *LoadRequest) { r.Options.Replicas = maxReplicas + 1 },
		"not absolute":  func(r *LoadRequest) { r.Files = []string{"f"} },
		"parameter has": func(r *LoadRequest) { r.Options.Parameters = map[string]string{longName: ""} },
		`"a" is longer`: func(r *LoadRequest) { r.Options.Parameters = map[string]string{"a": longText} },
		`"b" is longer`: func(r *LoadRequest) { r.Options.Parameters = map[string]string{"b": "\xff"} },
		"parameters, 64": func(r *LoadRequest) {
			r.Options.Parameters = map[string]string{}
			for i := range maxParameters + 1 {
				r.Options.Parameters[strings.Repeat("p", i)] = ""
			}
		},
	} {
		refuse(t, check, says, load(alter))
	}
	for _, format := range []string{FormatParquet, FormatCSV, FormatArrow} {
		require.NoError(t, check(load(func(r *LoadRequest) { r.Format = format })))
	}
	refuse(t, failed(decodeLoad), "no table", &nodepb.LoadRequest{})

	for says, list := range map[string][]TPCHRequest{
		"scale factor": {{}, {ScaleFactor: -1}, {ScaleFactor: math.NaN()}, {ScaleFactor: math.Inf(1)}}, "placement has": {{ScaleFactor: 1, Placement: longText}},
		"replicas are": {{ScaleFactor: 1, Replicas: -1}, {ScaleFactor: 1, Replicas: maxReplicas + 1}}, "schema has": {{ScaleFactor: 1, Schema: longName}},
	} {
		refuse(t, TPCHRequest.check, says, list...)
	}
	refuse(t, failed(decodeTPCH), "scale factor", &nodepb.TPCHRequest{})

	refuse(t, failed(decodeVerify), "4097 tables", &nodepb.VerifyRequest{Tables: make([]*nodepb.TableName, maxVerifyTables+1)})
	for _, name := range []*nodepb.TableName{{Schema: longName}, {Name: longName}} {
		refuse(t, failed(decodeVerify), "name has", &nodepb.VerifyRequest{Tables: []*nodepb.TableName{name}})
	}

	settings := map[string]string{}
	for i := range maxSettings + 1 {
		settings[strings.Repeat("s", i)] = ""
	}
	for says, list := range map[string][]*nodepb.FragmentRequest{
		"257 settings": {{Query: "q", Settings: settings}}, "setting has": {{Query: "q", Settings: map[string]string{longName: ""}}},
		"none may be": {{Query: "q", Revision: -1}, {Query: "q", MemoryLimit: -1}, {Query: "q", TimeLimit: -1}},
	} {
		refuse(t, failed(decodeFragment), says, list...)
	}
}

// N5: what nodes say to each other of memory and fragments.
func TestLendingMessagesThatAreRefused(t *testing.T) {
	good := &nodepb.Extent{Region: 1, Generation: 1}
	extents, sealed, left := make([]*nodepb.Extent, MaxExtents+1), make([]*nodepb.SealedExtent, MaxExtents+1), make([]*nodepb.LeftExtent, MaxExtents+1)
	for i := range extents {
		extents[i], left[i] = &nodepb.Extent{Generation: uint64(i + 1)}, &nodepb.LeftExtent{Generation: 1, Length: memregion.PageSize}
		sealed[i] = &nodepb.SealedExtent{Generation: 1, Length: memregion.PageSize}
	}
	refuse(t, failed(decodeExtents), "extents, ", extents)
	refuse(t, failed(decodeSealed), "extents, ", sealed)
	refuse(t, failed(decodeSealed), "bytes are sealed", []*nodepb.SealedExtent{{Generation: 1, Length: memregion.PageSize, Offset: 1 << 60}})
	refuse(t, failed(decodeLeft), " extents", &nodepb.LeftResponse{Extents: left})
	for _, x := range []*nodepb.LeftExtent{{Length: memregion.PageSize}, {Generation: 1}, {Generation: 1, Length: 1}} {
		refuse(t, failed(decodeLeft), "left: generation", &nodepb.LeftResponse{Extents: []*nodepb.LeftExtent{x}})
	}
	refuse(t, failed(decodeGrantRequest), "domain has", &nodepb.GrantRequest{Ticket: 1, Size: 1, Domain: longName})
	refuse(t, failed(decodeReallocate), "no ticket", &nodepb.ReallocateRequest{Extent: good, Size: 1})
	refuse(t, failed(decodeReallocate), "cannot be copied", &nodepb.ReallocateRequest{Extent: good, Size: 1, Ticket: 1, Used: -1})
	refuse(t, failed(decodeSeal), "no whole pages", &nodepb.SealRequest{Extent: good, Keep: maxGrantBytes + memregion.PageSize}, &nodepb.SealRequest{Extent: good, Keep: 1})

	refuse(t, failed(decodeFragmentProgress), "negative progress", &nodepb.FragmentProgress{Rows: -1}, &nodepb.FragmentProgress{BytesLocal: -1}, &nodepb.FragmentProgress{BytesRemote: -1})
	result := func(m *nodepb.FragmentResult) error { _, err := decodeFragmentResult(m, nil); return err }
	refuse(t, result, "1048577 chunks", &nodepb.FragmentResult{Chunks: make([][]byte, maxFragmentChunks+1)})
	refuse(t, result, "chunk 0", &nodepb.FragmentResult{Chunks: [][]byte{nil}})
	refuse(t, result, "have 0 rows, not 1", &nodepb.FragmentResult{Rows: 1})
	refuse(t, result, "negative progress", &nodepb.FragmentResult{Total: &nodepb.FragmentProgress{Rows: -1}})
}

// A method that accessOf does not have is for nodes.
func TestAMethodThatIsNotKnownIsForNodes(t *testing.T) {
	s := &Server{options: ServerOptions{Refusals: refusal.New(slog.New(slog.DiscardHandler))}}
	var e *Error
	require.ErrorAs(t, s.checkAccess(t.Context(), "/x/Y"), &e)
	require.Equal(t, statePrivilege, e.State)
}
