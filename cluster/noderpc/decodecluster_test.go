package noderpc

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/receipt"
	"github.com/csmsql/csmsql/cluster/noderpc/nodepb"
	"github.com/csmsql/csmsql/coherence"
	"github.com/csmsql/csmsql/memregion"
)

func genExtent() *rapid.Generator[catalog.ExtentID] {
	return rapid.Custom(func(t *rapid.T) catalog.ExtentID {
		return catalog.ExtentID{
			Region:     memregion.RegionID(rapid.Uint64().Draw(t, "region")),
			Generation: coherence.Generation(rapid.Uint64Range(1, math.MaxUint64).Draw(t, "generation")),
		}
	})
}

func TestWhatTheClusterEncodesIsDecoded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.Int64Range(1, maxGrantBytes).Draw(t, "size")
		grant := GrantRequest{
			Region: genExtent().Draw(t, "extent").Region, Owner: rapid.StringN(0, 100, maxOwnerBytes).Draw(t, "owner"), Size: size,
			Ticket:  Ticket(rapid.Uint64Range(1, math.MaxUint64).Draw(t, "ticket")),
			Process: Process{ID: int(rapid.Int32Range(0, math.MaxInt32).Draw(t, "id")), Started: rapid.Uint64().Draw(t, "started"), Boot: genLabel().Draw(t, "boot")},
		}
		gotGrant, err := decodeGrantRequest(sent(t, encodeGrantRequest(grant), &nodepb.GrantRequest{}))
		require.NoError(t, err)
		require.Equal(t, grant, gotGrant)

		move := ReallocateRequest{Extent: genExtent().Draw(t, "extent"), Size: size, Used: rapid.Int64Range(0, size).Draw(t, "used"), Ticket: grant.Ticket}
		gotMove, err := decodeReallocate(sent(t, encodeReallocate(move), &nodepb.ReallocateRequest{}))
		require.NoError(t, err)
		require.Equal(t, move, gotMove)

		pages := rapid.Int64Range(1, 1<<30).Draw(t, "pages") * memregion.PageSize
		seal := SealRequest{Extent: move.Extent, Keep: pages, Seal: coherence.Seal{Length: rapid.Int64Range(0, pages).Draw(t, "length"), Checksum: rapid.Uint64().Draw(t, "checksum")}}
		gotSeal, err := decodeSeal(sent(t, encodeSeal(seal), &nodepb.SealRequest{}))
		require.NoError(t, err)
		require.Equal(t, seal, gotSeal)

		given := Granted{
			Extent: move.Extent, Range: memregion.Range{Offset: rapid.Int64Range(0, 1<<30).Draw(t, "at") * memregion.PageSize, Length: pages},
			Class: coherence.Class(rapid.IntRange(0, 2).Draw(t, "class")),
		}
		gotGiven, err := decodeGranted(sent(t, encodeGranted(given), &nodepb.GrantResponse{}), given.Extent.Region, rapid.Int64Range(1, pages).Draw(t, "asked"))
		require.NoError(t, err)
		require.Equal(t, given, gotGiven)

		free := FreeRequest{Extents: rapid.SliceOfNDistinct(genExtent(), 0, 5, rapid.ID[catalog.ExtentID]).Draw(t, "extents"), Settling: rapid.Bool().Draw(t, "settling")}
		for _, ticket := range rapid.SliceOfN(rapid.Uint64(), 0, 5).Draw(t, "tickets") {
			free.Tickets = append(free.Tickets, Ticket(ticket))
		}
		gotFree, err := decodeFree(sent(t, encodeFree(free), &nodepb.FreeRequest{}))
		require.NoError(t, err)
		require.Equal(t, free.Tickets, gotFree.Tickets)
		require.ElementsMatch(t, free.Extents, gotFree.Extents)

		fragment := FragmentRequest{
			Query: rapid.StringN(1, 100, 1000).Draw(t, "query"), Revision: catalog.Revision(genCount().Draw(t, "revision")), MemoryLimit: genCount().Draw(t, "memory"),
			TimeLimit: time.Duration(genCount().Draw(t, "time")), Settings: map[string]string{genName().Draw(t, "name"): genName().Draw(t, "value")},
			Parameters: [][]byte{rapid.SliceOfN(rapid.Byte(), 1, 9).Draw(t, "parameter")}, Payload: rapid.SliceOfN(rapid.Byte(), 1, 9).Draw(t, "payload"),
			Tables: []FragmentTable{{Table: catalog.TableID(rapid.Uint64().Draw(t, "table")), Version: rapid.Uint64().Draw(t, "version"), Chunks: []uint32{1, 2, math.MaxUint32}}},
		}
		gotFragment, err := decodeFragment(sent(t, encodeFragment(fragment), &nodepb.FragmentRequest{}))
		require.NoError(t, err)
		require.Equal(t, fragment, gotFragment)

		collect := CollectRequest{
			Table:   catalog.TableID(rapid.Uint64Min(1).Draw(t, "collected")),
			Seen:    catalog.Revision(genCount().Draw(t, "seen")),
			Columns: rapid.SliceOfN(rapid.Byte(), 1, 64).Draw(t, "columns"),
			Rows:    rapid.SliceOfN(rapid.Byte(), 1, 99).Draw(t, "rows"),
			Names:   []TableNamed{{"", "t", []string{"a", "b"}}, {"s", "t", nil}},
			Receipt: receipt.Receipt{
				Node: "b", Slot: rapid.IntRange(0, receipt.Slots-1).Draw(t, "slot"),
				Since: catalog.Revision(genCount().Draw(t, "since")), Token: "b/1/2",
			},
		}
		gotCollect, err := decodeCollect(sent(t, encodeCollect(collect), &nodepb.CollectRequest{}))
		require.NoError(t, err)
		require.Equal(t, collect, gotCollect)
	})
}

// FuzzDecodeCluster: whatever the bytes are, no decoder panics (N5), and what it lets pass survives being sent again.
func FuzzDecodeCluster(f *testing.F) {
	id := catalog.ExtentID{Region: 1, Generation: 2}
	for _, m := range []proto.Message{
		encodeGrantRequest(GrantRequest{Region: 1, Owner: "public.t", Size: 4096, Ticket: 5, Process: CurrentProcess()}),
		encodeReallocate(ReallocateRequest{Extent: id, Size: 8192, Used: 100, Ticket: 5}),
		encodeSeal(SealRequest{Extent: id, Keep: 4096, Seal: coherence.Seal{Length: 5, Checksum: 1 << 63}}),
		encodeGranted(Granted{Extent: id, Range: memregion.Range{Offset: 4096, Length: 8192}, Class: coherence.Incoherent}),
		encodeFree(FreeRequest{Extents: []catalog.ExtentID{id}, Tickets: []Ticket{1, 2}, Settling: true}),
		&nodepb.PublishRequest{Extents: encodeExtents([]catalog.ExtentID{id, {Region: 2, Generation: 2}})},
		encodeFragment(FragmentRequest{Query: "select 1", Tables: []FragmentTable{{Table: 1, Version: 2, Chunks: []uint32{1, 2}}}, Settings: map[string]string{"a": "b"}, Payload: []byte("p")}),
		&nodepb.FragmentResult{Chunks: [][]byte{[]byte("x")}, Rows: 1, Total: &nodepb.FragmentProgress{Rows: 1}},
		encodeCollect(CollectRequest{
			Table: 1, Columns: []byte("c"), Rows: []byte("r"), Seen: 7, Names: []TableNamed{{"s", "t", nil}},
			Receipt: receipt.Receipt{Node: "b", Slot: 3, Since: 5, Token: "t"},
		}),
	} {
		data, err := proto.Marshal(m)
		require.NoError(f, err)
		for kind := range byte(9) {
			f.Add(kind, data)
		}
	}
	lends := func(region memregion.RegionID) (int64, bool) { return 1 << 30, region == 1 }
	f.Fuzz(func(t *testing.T, kind byte, data []byte) {
		switch kind % 9 {
		case 0:
			again(t, data, &nodepb.GrantRequest{}, decodeGrantRequest, encodeGrantRequest)
		case 1:
			again(t, data, &nodepb.ReallocateRequest{}, decodeReallocate, encodeReallocate)
		case 2:
			again(t, data, &nodepb.SealRequest{}, decodeSeal, encodeSeal)
		case 3:
			decode := func(m *nodepb.GrantResponse) (Granted, error) { return decodeGranted(m, 1, 4096) }
			again(t, data, &nodepb.GrantResponse{}, decode, encodeGranted)
		case 4:
			again(t, data, &nodepb.FreeRequest{}, decodeFree, encodeFree)
		case 5:
			m := &nodepb.PublishRequest{}
			if proto.Unmarshal(data, m) == nil {
				if ids, err := decodeExtents(m.GetExtents()); err == nil {
					require.LessOrEqual(t, len(ids), MaxExtents)
				}
			}
		case 6:
			again(t, data, &nodepb.FragmentRequest{}, decodeFragment, encodeFragment)
		case 8:
			again(t, data, &nodepb.CollectRequest{}, decodeCollect, encodeCollect)
		case 7:
			m := &nodepb.FragmentResult{}
			if proto.Unmarshal(data, m) == nil {
				if r, err := decodeFragmentResult(m, lends); err == nil {
					for _, c := range r.Chunks {
						require.NoError(t, CheckPlaces(c.Descriptor(), lends))
					}
				}
			}
		}
	})
}

func TestIncarnationsAreText(t *testing.T) {
	i := NewIncarnation()
	require.NotEqual(t, i, NewIncarnation())
	text, err := i.MarshalText()
	require.NoError(t, err)
	var back Incarnation
	require.NoError(t, back.UnmarshalText(text))
	require.Equal(t, i, back)
	require.Error(t, back.UnmarshalText(text[1:]))
	require.Error(t, back.UnmarshalText(append([]byte("x"), text[1:]...)))
	require.True(t, Incarnation{}.IsZero())
}

// accessOf has every method, and no other.
func TestEveryMethodSaysForWhomItIs(t *testing.T) {
	methods := 0
	for _, service := range []grpc.ServiceDesc{
		nodepb.Node_ServiceDesc, nodepb.Lending_ServiceDesc, nodepb.Coordination_ServiceDesc, nodepb.Fragments_ServiceDesc, nodepb.Administration_ServiceDesc,
	} {
		for _, m := range service.Methods {
			methods++
			require.Contains(t, accessOf, "/"+service.ServiceName+"/"+m.MethodName)
		}
		for _, m := range service.Streams {
			methods++
			require.Contains(t, accessOf, "/"+service.ServiceName+"/"+m.StreamName)
		}
	}
	require.Len(t, accessOf, methods)
}
