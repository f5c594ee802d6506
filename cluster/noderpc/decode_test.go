package noderpc

import (
	"context"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/cluster/noderpc/nodepb"
	"github.com/csmsql/csmsql/coherence"
	"github.com/csmsql/csmsql/memregion"
)

func goodSpec() memregion.Spec {
	return memregion.Spec{ID: 1, Base: windowStart, Capacity: memregion.PageSize, Fabric: memregion.FabricShm, Path: "/dev/shm/r", BootID: "b"}
}

// N5: each of these would have a borrower map nonsense.
func TestSpecsThatAreRefused(t *testing.T) {
	require.NoError(t, checkSpecs([]memregion.Spec{goodSpec()}))
	for problem, damage := range map[string]func(*memregion.Spec){
		"base":           func(s *memregion.Spec) { s.Base = 0 },
		"base 0x":        func(s *memregion.Spec) { s.Base++ },
		"no multiple":    func(s *memregion.Spec) { s.Base = windowEnd },
		"1 GiB":          func(s *memregion.Spec) { s.Base = math.MaxUint64 &^ (memregion.Granule - 1) },
		"capacity 0":     func(s *memregion.Spec) { s.Capacity = 0 },
		"capacity -4096": func(s *memregion.Spec) { s.Capacity = -memregion.PageSize },
		"capacity 4097":  func(s *memregion.Spec) { s.Capacity++ },
		"capacity 92":    func(s *memregion.Spec) { s.Capacity = math.MaxInt64 &^ (memregion.PageSize - 1) },
		"below":          func(s *memregion.Spec) { s.Capacity = int64(windowEnd-windowStart) + memregion.PageSize },
		`fabric "floppy`: func(s *memregion.Spec) { s.Fabric = "floppy" },
		"start -4096":    func(s *memregion.Spec) { s.Start = -memregion.PageSize },
		"start 1":        func(s *memregion.Spec) { s.Start = 1 },
		"start 92":       func(s *memregion.Spec) { s.Start = math.MaxInt64 &^ (memregion.PageSize - 1) },
		"not absolute":   func(s *memregion.Spec) { s.Path = "r" },
		"absolute":       func(s *memregion.Spec) { s.Path = "" },
		"zero byte":      func(s *memregion.Spec) { s.Path = "/r\x00" },
		"4097 bytes":     func(s *memregion.Spec) { s.Path = "/" + strings.Repeat("r", maxPathBytes) },
		"boot":           func(s *memregion.Spec) { s.BootID = "\x1b[2J" },
	} {
		s := goodSpec()
		damage(&s)
		require.ErrorContains(t, checkSpecs([]memregion.Spec{s}), problem)
	}
	other := goodSpec()
	require.ErrorContains(t, checkSpecs([]memregion.Spec{goodSpec(), other}), "twice")
	other.ID = 2
	require.ErrorContains(t, checkSpecs([]memregion.Spec{goodSpec(), other}), "overlap")
	big := goodSpec()
	big.Capacity = 3 * memregion.Granule
	other.Base += 2 * memregion.Granule
	require.ErrorContains(t, checkSpecs([]memregion.Spec{other, big}), "overlap")
	other.Base += memregion.Granule
	require.NoError(t, checkSpecs([]memregion.Spec{other, big}))
	require.ErrorContains(t, checkSpecs(make([]memregion.Spec, maxRegions+1)), "4096 are allowed")
}

func TestLeasesThatAreRefused(t *testing.T) {
	make := func(change func(*catalog.SnapshotRecord), message func(*nodepb.LeaseResponse)) *nodepb.LeaseResponse {
		record := &catalog.SnapshotRecord{Revision: 1, Lease: 5, TTL: time.Second, Regions: []catalog.RegionRecord{{Spec: goodSpec()}}}
		if change != nil {
			change(record)
		}
		m := &nodepb.LeaseResponse{Snapshot: record.Encode(), Lease: newTokens().make(record.Lease), Ttl: int64(record.TTL)}
		if message != nil {
			message(m)
		}
		return m
	}
	_, err := decodeLease(make(nil, nil))
	require.NoError(t, err)
	for problem, m := range map[string]*nodepb.LeaseResponse{
		"not between":   make(func(r *catalog.SnapshotRecord) { r.TTL = 0 }, nil),
		"between":       make(func(r *catalog.SnapshotRecord) { r.TTL = math.MaxInt64 }, nil),
		"base":          make(func(r *catalog.SnapshotRecord) { r.Regions[0].Base = 4096 }, nil),
		"of lease 5":    make(nil, func(m *nodepb.LeaseResponse) { m.Lease.Id = 6 }),
		"of 2s":         make(nil, func(m *nodepb.LeaseResponse) { m.Ttl *= 2 }),
		"key of 0":      make(nil, func(m *nodepb.LeaseResponse) { m.Lease.Key = nil }),
		"broke":         make(nil, func(m *nodepb.LeaseResponse) { m.Snapshot = m.Snapshot[:len(m.Snapshot)-1] }),
		"broke the pro": {},
	} {
		_, err := decodeLease(m)
		require.ErrorContains(t, err, problem)
		require.ErrorIs(t, err, ErrBadMessage)
	}
}

// lessorOf is a node that says what it likes about leases.
type lessorOf struct {
	nodepb.NodeClient
	over []uint64
}

func (l lessorOf) Renew(context.Context, *nodepb.RenewRequest, ...grpc.CallOption) (*nodepb.RenewResponse, error) {
	return &nodepb.RenewResponse{Over: l.over}, nil
}

func TestRenewalsThatAreNotTrusted(t *testing.T) {
	for _, over := range [][]uint64{{3}, {1, 1}, {2}} {
		c := &Client{name: "x", rpc: lessorOf{over: over}}
		c.mu.keys = map[catalog.LeaseID][]byte{1: make([]byte, keyBytes), 2: make([]byte, keyBytes)}
		_, err := c.Renew(t.Context(), []catalog.LeaseID{1})
		require.ErrorIs(t, err, ErrBadMessage)
	}
}

func genName() *rapid.Generator[string] { return rapid.StringN(0, 60, maxNameBytes) }

func genLabel() *rapid.Generator[string] { return rapid.StringMatching(`[a-zäß…0-9 -]{0,60}`) }

func genCount() *rapid.Generator[int64] { return rapid.Int64Range(0, math.MaxInt64) }

func genTime() *rapid.Generator[time.Time] {
	return rapid.Custom(func(t *rapid.T) time.Time { return decodeTime(rapid.Int64().Draw(t, "ns")) })
}

func genFrontend() *rapid.Generator[Frontend] {
	return rapid.Custom(func(t *rapid.T) Frontend {
		return rapid.SampledFrom([]Frontend{{}, {SocketDirectory: "/tmp\xff"}, {Address: "[::1]:5"}}).Draw(t, "frontend")
	})
}

func genRegions() *rapid.Generator[[]Region] {
	return rapid.Custom(func(t *rapid.T) (regions []Region) {
		base := windowStart
		for i := range rapid.IntRange(0, 5).Draw(t, "n") {
			s := goodSpec()
			s.ID, s.Base = memregion.RegionID(i), base
			s.Capacity = rapid.Int64Range(1, 1<<20).Draw(t, "pages") * memregion.PageSize
			base += memregion.Addr((s.Capacity + memregion.Granule - 1) / memregion.Granule * memregion.Granule)
			regions = append(regions, Region{Spec: s, Trusted: coherence.Generation(rapid.Uint64().Draw(t, "trusted"))})
		}
		return regions
	})
}

func sent[M proto.Message](t require.TestingT, from, to M) M {
	data, err := proto.Marshal(from)
	require.NoError(t, err)
	require.NoError(t, proto.Unmarshal(data, to))
	return to
}

func TestWhatIsEncodedIsDecoded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := Description{
			Node: genLabel().Draw(t, "node"), Catalog: genLabel().Draw(t, "catalog"), Domain: coherence.Domain(genLabel().Draw(t, "domain")),
			Regions: genRegions().Draw(t, "regions"), LeaseTTL: time.Duration(rapid.Int64Range(int64(MinTTL), int64(MaxTTL)).Draw(t, "ttl")),
			Frontend: genFrontend().Draw(t, "frontend"), Version: genLabel().Draw(t, "version"), Started: genTime().Draw(t, "started"),
		}
		gotD, err := decodeDescription(sent(t, encodeDescription(d), &nodepb.Description{}))
		require.NoError(t, err)
		require.Equal(t, d, gotD)

		s := Status{Node: NodeStatus{
			Name: d.Node, Version: d.Version, Started: d.Started, Process: int(rapid.Int32Range(0, math.MaxInt32).Draw(t, "process")), Catalog: d.Catalog,
			Revision: catalog.Revision(genCount().Draw(t, "revision")), Domain: d.Domain, Frontend: d.Frontend,
		}, Regions: []RegionStatus{}, Tables: []TableStatus{}, Leases: []LeaseStatus{}, Counters: []Counter{}, Holders: []HolderStatus{}, Workers: []WorkerStatus{}, Overdue: []OverdueStatus{}}
		for _, r := range d.Regions {
			s.Regions = append(s.Regions, RegionStatus{
				ID: r.ID, Node: d.Node, Fabric: r.Fabric, Path: r.Path, Base: r.Base, Capacity: r.Capacity,
				Used: genCount().Draw(t, "used"), Reserved: genCount().Draw(t, "reserved"), Extents: genCount().Draw(t, "extents"),
				Gone: rapid.StringN(0, 100, maxTextBytes).Draw(t, "gone"),
			})
			s.Tables = append(s.Tables, TableStatus{
				Schema: genName().Draw(t, "schema"), Name: genName().Draw(t, "name"), Rows: genCount().Draw(t, "rows"),
				Bytes: genCount().Draw(t, "bytes"), Chunks: genCount().Draw(t, "chunks"), Version: rapid.Uint64().Draw(t, "version"),
				Source: rapid.StringN(0, 100, maxTextBytes).Draw(t, "source"),
			})
			s.Tables[len(s.Tables)-1].Missing = rapid.Int64Range(0, s.Tables[len(s.Tables)-1].Chunks).Draw(t, "missing")
			s.Leases = append(s.Leases, LeaseStatus{
				ID: catalog.LeaseID(rapid.Uint64().Draw(t, "lease")), Domain: d.Domain, Holder: rapid.StringN(0, 1000, maxTextBytes).Draw(t, "holder"),
				Since: genTime().Draw(t, "since"), Expires: genTime().Draw(t, "expires"), Revision: catalog.Revision(genCount().Draw(t, "at")),
			})
			s.Holders = append(s.Holders, HolderStatus{Holder: genLabel().Draw(t, "holder"), Extents: rapid.Int64Min(0).Draw(t, "extents"), Bytes: rapid.Int64Min(0).Draw(t, "held")})
			s.Counters = append(s.Counters, Counter{Name: genLabel().Draw(t, "counter"), Step: genLabel().Draw(t, "step"), Value: rapid.Uint64().Draw(t, "value")})
			s.Workers = append(s.Workers, WorkerStatus{
				Process: int(rapid.Int32Range(0, math.MaxInt32).Draw(t, "worker")), Started: genTime().Draw(t, "since"), Busy: rapid.Bool().Draw(t, "busy"),
				Statements: genCount().Draw(t, "statements"), Crashes: genCount().Draw(t, "crashes"), Kills: genCount().Draw(t, "kills"),
			})
			s.Overdue = append(s.Overdue, OverdueStatus{
				Session: rapid.Uint32().Draw(t, "session"), User: genName().Draw(t, "user"), Text: rapid.StringN(0, 1000, maxTextBytes).Draw(t, "text"),
				Since: genTime().Draw(t, "since"), Reason: rapid.StringN(0, 100, maxTextBytes).Draw(t, "reason"),
			})
		}
		gotS, err := decodeStatus(sent(t, encodeStatus(s), &nodepb.StatusResponse{}))
		require.NoError(t, err)
		require.Equal(t, s, gotS)

		v := VerifyResult{Tables: genCount().Draw(t, "tables"), Damaged: []DamagedReplica{}}
		for _, t := range s.Tables {
			v.Damaged = append(v.Damaged, DamagedReplica{Schema: t.Schema, Table: t.Name, Chunk: t.Chunks, FirstRow: t.Rows, Rows: t.Rows, Node: d.Node, Reason: "torn", Spared: t.Rows%2 == 0})
		}
		gotV, err := decodeVerified(sent(t, encodeVerified(v), &nodepb.LoadEvent{}).GetVerified())
		require.NoError(t, err)
		require.Equal(t, v, gotV)

		p := Progress{genName().Draw(t, "step"), genCount().Draw(t, "rows"), genCount().Draw(t, "of"), genCount().Draw(t, "bytes"), genCount().Draw(t, "of")}
		gotP, err := decodeProgress(sent(t, encodeProgress(p), &nodepb.LoadEvent{}).GetProgress())
		require.NoError(t, err)
		require.Equal(t, p, gotP)
	})
}

// A node's own texts never make an answer that its client refuses.
func TestTextsAreMadeToFit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(3, 40).Draw(t, "limit")
		s := string(rapid.SliceOfN(rapid.Byte(), 0, 60).Draw(t, "bytes"))
		require.NoError(t, checkText("text", text(s, limit), limit))
		if checkText("text", s, limit) == nil {
			require.Equal(t, s, text(s, limit))
		}
	})
}

// FuzzDecode: whatever the bytes are, no decoder panics (N5), and what it lets pass survives being sent again.
func FuzzDecode(f *testing.F) {
	record := &catalog.SnapshotRecord{Revision: 1, Lease: 5, TTL: time.Second, Schemas: []string{"s"}, Regions: []catalog.RegionRecord{{Spec: goodSpec()}}}
	for _, m := range []proto.Message{
		encodeDescription(Description{Node: "n", LeaseTTL: time.Second, Regions: []Region{{Spec: goodSpec(), Trusted: 3}}}),
		&nodepb.LeaseResponse{Snapshot: record.Encode(), Lease: newTokens().make(5), Ttl: int64(time.Second)},
		encodeStatus(Status{Regions: []RegionStatus{{ID: 1, Base: windowStart, Capacity: 4096, Fabric: "shm", Path: "/r"}}, Tables: []TableStatus{{Name: "t"}}}),
		encodeProgress(Progress{Step: "s", Rows: 1}), encodeResult(LoadResult{Rows: 1}),
		encodeVerified(VerifyResult{Damaged: []DamagedReplica{{Schema: "s", Table: "t", Node: "n", Reason: "r"}}}),
		encodeLoad(LoadRequest{Table: catalog.TableName{Name: "t"}, Files: []string{"/f"}, Options: LoadOptions{Mode: LoadCreate}}),
		encodeTPCH(TPCHRequest{ScaleFactor: 1}), encodeHolder(catalog.Holder{Domain: "d", TTL: time.Second}),
		&nodepb.Error{State: "42P01", Message: "m", Position: 3},
	} {
		data, err := proto.Marshal(m)
		require.NoError(f, err)
		for kind := range byte(9) {
			f.Add(kind, data)
		}
	}
	f.Fuzz(func(t *testing.T, kind byte, data []byte) {
		switch kind % 9 {
		case 0:
			again(t, data, &nodepb.Description{}, decodeDescription, encodeDescription)
		case 1:
			m := &nodepb.LeaseResponse{}
			if proto.Unmarshal(data, m) != nil {
				return
			}
			if record, err := decodeLease(m); err == nil {
				_, _ = catalog.NewRemoteSnapshot(record, nil, catalog.RemoteOptions{}) // what a borrower does next
			}
		case 2:
			again(t, data, &nodepb.StatusResponse{}, decodeStatus, encodeStatus)
		case 3:
			m := &nodepb.LoadEvent{}
			if proto.Unmarshal(data, m) == nil {
				_, _ = decodeProgress(m.GetProgress())
				_, _ = decodeResult(m.GetResult())
				_, _ = decodeVerified(m.GetVerified())
			}
		case 4:
			again(t, data, &nodepb.LoadRequest{}, decodeLoad, encodeLoad)
		case 5:
			again(t, data, &nodepb.TPCHRequest{}, decodeTPCH, encodeTPCH)
		case 6:
			again(t, data, &nodepb.LeaseRequest{}, decodeHolder, encodeHolder)
		case 7, 8:
			m := &nodepb.Error{}
			if proto.Unmarshal(data, m) == nil {
				e := remoteError(m)
				require.True(t, isState(e.State))
				require.LessOrEqual(t, len(e.Message), maxTextBytes)
				require.Error(t, errorOf(t.Context(), "n", "d", statusOf(e)))
			}
		}
	})
}

func again[T any, M proto.Message](t *testing.T, data []byte, m M, decode func(M) (T, error), encode func(T) M) {
	if proto.Unmarshal(data, m) != nil {
		return
	}
	value, err := decode(m)
	if err != nil {
		return
	}
	second, err := decode(encode(value))
	require.NoError(t, err, "what was accepted once is accepted again")
	require.Equal(t, value, second)
}
