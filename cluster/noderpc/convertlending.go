package noderpc

import (
	"fmt"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/descriptor"
	"github.com/csmsql/csmsql/cluster/noderpc/nodepb"
	"github.com/csmsql/csmsql/coherence"
	"github.com/csmsql/csmsql/memregion"
)

func encodeExtent(id catalog.ExtentID) *nodepb.Extent {
	return &nodepb.Extent{Region: uint64(id.Region), Generation: uint64(id.Generation)}
}

// decodeExtent refuses generation 0, which names nothing.
func decodeExtent(m *nodepb.Extent) (catalog.ExtentID, error) {
	id := catalog.ExtentID{Region: memregion.RegionID(m.GetRegion()), Generation: coherence.Generation(m.GetGeneration())}
	if id.Generation == 0 {
		return id, badArgument("an extent of region %d without generation", id.Region)
	}
	return id, nil
}

func encodeExtents(ids []catalog.ExtentID) []*nodepb.Extent {
	list := make([]*nodepb.Extent, len(ids))
	for i, id := range ids {
		list[i] = encodeExtent(id)
	}
	return list
}

// decodeExtents refuses an empty list and one that names an extent twice.
func decodeExtents(list []*nodepb.Extent) ([]catalog.ExtentID, error) {
	if len(list) > MaxExtents {
		return nil, badArgument("%d extents, %d are allowed in one call", len(list), MaxExtents)
	}
	ids := make([]catalog.ExtentID, 0, len(list))
	seen := make(map[catalog.ExtentID]bool, len(list))
	for _, m := range list {
		id, err := decodeExtent(m)
		if err != nil {
			return nil, err
		}
		if seen[id] {
			return nil, badArgument("%v is named twice", id)
		}
		seen[id] = true
		ids = append(ids, id)
	}
	return ids, nil
}

func encodeSealed(extents []descriptor.Extent) []*nodepb.SealedExtent {
	list := make([]*nodepb.SealedExtent, len(extents))
	for i, x := range extents {
		list[i] = &nodepb.SealedExtent{
			Region: uint64(x.Region), Generation: uint64(x.Generation), Offset: x.Range.Offset, Length: x.Range.Length,
			Sealed: x.Seal.Length, Checksum: x.Seal.Checksum,
		}
	}
	return list
}

// decodeSealed refuses what no region can have.
func decodeSealed(list []*nodepb.SealedExtent) ([]descriptor.Extent, error) {
	if len(list) > MaxExtents {
		return nil, badArgument("%d extents, %d are allowed in one call", len(list), MaxExtents)
	}
	extents := make([]descriptor.Extent, len(list))
	for i, m := range list {
		x := &extents[i]
		x.Region, x.Generation = memregion.RegionID(m.GetRegion()), coherence.Generation(m.GetGeneration())
		x.Range = memregion.Range{Offset: m.GetOffset(), Length: m.GetLength()}
		x.Seal = coherence.Seal{Length: m.GetSealed(), Checksum: m.GetChecksum()}
		if x.Generation == 0 || !plausible(x.Range) || x.Seal.Length < 0 || x.Seal.Length > x.Range.Length {
			return nil, badArgument("extent %v with %v, of which %d bytes are sealed", x.ExtentID, x.Range, x.Seal.Length)
		}
	}
	return extents, nil
}

// plausible ranges are whole pages that some region could have.
func plausible(r memregion.Range) bool {
	return r.Offset >= 0 && r.Length > 0 && r.Length <= maxGrantBytes && r.Offset <= maxGrantBytes && r.Offset%memregion.PageSize == 0 && r.Length%memregion.PageSize == 0
}

// encodeLeft and its decoder are about one region.
func encodeLeft(list []LeftExtent) *nodepb.LeftResponse {
	m := &nodepb.LeftResponse{}
	for _, x := range list {
		m.Extents = append(m.Extents, &nodepb.LeftExtent{Generation: uint64(x.Generation), Offset: x.Range.Offset, Length: x.Range.Length})
	}
	return m
}

func decodeLeft(m *nodepb.LeftResponse) ([]LeftExtent, error) {
	if len(m.GetExtents()) > MaxExtents {
		return nil, badMessage("left: %d extents", len(m.GetExtents()))
	}
	list := make([]LeftExtent, len(m.GetExtents()))
	for i, x := range m.GetExtents() {
		list[i] = LeftExtent{coherence.Generation(x.GetGeneration()), memregion.Range{Offset: x.GetOffset(), Length: x.GetLength()}}
		if list[i].Generation == 0 || !plausible(list[i].Range) {
			return nil, badMessage("left: generation %d in %v", x.GetGeneration(), list[i].Range)
		}
	}
	return list, nil
}

func decodeLeftRequest(m *nodepb.LeftRequest) (LeftRequest, error) {
	r := LeftRequest{Region: memregion.RegionID(m.GetRegion()), Domain: coherence.Domain(m.GetDomain())}
	if len(m.GetFlushed()) > MaxExtents {
		return r, badArgument("%d extents, %d are allowed in one call", len(m.GetFlushed()), MaxExtents)
	}
	for _, g := range m.GetFlushed() {
		r.Flushed = append(r.Flushed, coherence.Generation(g))
	}
	return r, r.check()
}

func (r LeftRequest) check() error {
	if r.Domain == "" {
		return badArgument("left: the caller's machine has no name")
	}
	if err := checkText("domain", string(r.Domain), maxNameBytes); err != nil {
		return badArgument("left: %v", err)
	}
	return nil
}

func encodeLeftRequest(r LeftRequest) *nodepb.LeftRequest {
	return &nodepb.LeftRequest{Region: uint64(r.Region), Domain: string(r.Domain), Flushed: generationNumbers(r.Flushed)}
}

func decodeHeldRequest(m *nodepb.HeldRequest) (HeldRequest, error) {
	r := HeldRequest{Region: memregion.RegionID(m.GetRegion())}
	if len(m.GetDisclaimed()) > MaxExtents {
		return r, badArgument("held: %d extents, %d are allowed in one call", len(m.GetDisclaimed()), MaxExtents)
	}
	for _, g := range m.GetDisclaimed() {
		r.Disclaimed = append(r.Disclaimed, coherence.Generation(g))
	}
	return r, nil
}

func generationNumbers(list []coherence.Generation) []uint64 {
	numbers := make([]uint64, len(list))
	for i, g := range list {
		numbers[i] = uint64(g)
	}
	return numbers
}

func encodeProcess(p Process) *nodepb.Process {
	return &nodepb.Process{Id: int64(p.ID), Started: p.Started, Namespace: p.Namespace, Boot: text(p.Boot, maxNameBytes)}
}

func decodeProcess(m *nodepb.Process) (Process, error) {
	p := Process{ID: int(m.GetId()), Started: m.GetStarted(), Namespace: m.GetNamespace(), Boot: m.GetBoot()}
	if p.ID < 0 || int64(p.ID) > 1<<31-1 {
		return Process{}, badArgument("%d is no process", p.ID)
	}
	if err := checkLabel("boot", p.Boot); err != nil {
		return Process{}, badArgument("%v", err)
	}
	return p, nil
}

func encodeGrantRequest(r GrantRequest) *nodepb.GrantRequest {
	return &nodepb.GrantRequest{
		Region: uint64(r.Region), Owner: r.Owner, Size: r.Size, Ticket: uint64(r.Ticket), Process: encodeProcess(r.Process), Domain: string(r.Domain),
		Node: r.Member.Node, Registered: int64(r.Member.Registered), Holder: r.Holder,
	}
}

func (r GrantRequest) check() error {
	if err := checkText("owner", r.Owner, maxOwnerBytes); err != nil {
		return err
	}
	if err := checkText("domain", string(r.Domain), maxNameBytes); err != nil {
		return err
	}
	if err := checkText("node", r.Member.Node, maxNameBytes); err != nil {
		return err
	}
	if err := checkText("holder", r.Holder, maxOwnerBytes); err != nil {
		return err
	}
	if r.Member.Registered < 0 {
		return fmt.Errorf("a node cannot be registered at revision %d", r.Member.Registered)
	}
	if r.Ticket == 0 {
		return fmt.Errorf("the request has no ticket")
	}
	return checkGrantSize(r.Size)
}

// checkGrantSize is about what no machine has; what a node gives is the lender's to say.
func checkGrantSize(size int64) error {
	if size <= 0 || size > maxGrantBytes {
		return fmt.Errorf("an extent of %d bytes is not between 1 and %d", size, int64(maxGrantBytes))
	}
	return nil
}

func decodeGrantRequest(m *nodepb.GrantRequest) (GrantRequest, error) {
	r := GrantRequest{
		Region: memregion.RegionID(m.GetRegion()), Owner: m.GetOwner(), Size: m.GetSize(), Ticket: Ticket(m.GetTicket()), Domain: coherence.Domain(m.GetDomain()),
		Member: Membership{Node: m.GetNode(), Registered: catalog.Revision(m.GetRegistered())}, Holder: m.GetHolder(),
	}
	if err := r.check(); err != nil {
		return GrantRequest{}, badArgument("grant: %v", err)
	}
	var err error
	r.Process, err = decodeProcess(m.GetProcess())
	return r, err
}

func encodeReallocate(r ReallocateRequest) *nodepb.ReallocateRequest {
	return &nodepb.ReallocateRequest{Extent: encodeExtent(r.Extent), Size: r.Size, Used: r.Used, Ticket: uint64(r.Ticket)}
}

func (r ReallocateRequest) check() error {
	switch {
	case r.Ticket == 0:
		return fmt.Errorf("the request has no ticket")
	case r.Used < 0 || r.Used > r.Size:
		return fmt.Errorf("%d bytes cannot be copied into %d", r.Used, r.Size)
	}
	return checkGrantSize(r.Size)
}

func decodeReallocate(m *nodepb.ReallocateRequest) (ReallocateRequest, error) {
	id, err := decodeExtent(m.GetExtent())
	if err != nil {
		return ReallocateRequest{}, err
	}
	r := ReallocateRequest{Extent: id, Size: m.GetSize(), Used: m.GetUsed(), Ticket: Ticket(m.GetTicket())}
	if err := r.check(); err != nil {
		return ReallocateRequest{}, badArgument("reallocate: %v", err)
	}
	return r, nil
}

func encodeGranted(g Granted) *nodepb.GrantResponse {
	return &nodepb.GrantResponse{Generation: uint64(g.Extent.Generation), Offset: g.Range.Offset, Length: g.Range.Length, Class: uint32(g.Class)}
}

// decodeGranted compares the answer with what was asked. The caller, which has the region mapped, checks that the range
// is inside.
func decodeGranted(m *nodepb.GrantResponse, region memregion.RegionID, size int64) (Granted, error) {
	g := Granted{
		Extent: catalog.ExtentID{Region: region, Generation: coherence.Generation(m.GetGeneration())},
		Range:  memregion.Range{Offset: m.GetOffset(), Length: m.GetLength()}, Class: coherence.Class(m.GetClass()),
	}
	switch {
	case m.GetClass() > uint32(coherence.IncoherentHomeSnoop):
		return Granted{}, badMessage("grant: class %d", m.GetClass())
	case g.Extent.Generation == 0:
		return Granted{}, badMessage("grant: no generation")
	case g.Range.Length < size || g.Range.Length > maxGrantBytes || g.Range.Offset < 0 || g.Range.Offset > maxGrantBytes:
		return Granted{}, badMessage("grant: %v for %d bytes", g.Range, size)
	case g.Range.Offset%memregion.PageSize != 0 || g.Range.Length%memregion.PageSize != 0:
		return Granted{}, badMessage("grant: %v is not whole pages", g.Range)
	}
	return g, nil
}

func encodeSeal(r SealRequest) *nodepb.SealRequest {
	return &nodepb.SealRequest{Extent: encodeExtent(r.Extent), Keep: r.Keep, Length: r.Seal.Length, Checksum: r.Seal.Checksum}
}

func (r SealRequest) check() error {
	switch {
	case r.Keep <= 0 || r.Keep > maxGrantBytes || r.Keep%memregion.PageSize != 0:
		return fmt.Errorf("%d bytes are no whole pages to keep", r.Keep)
	case r.Seal.Length < 0 || r.Seal.Length > r.Keep:
		return fmt.Errorf("%d bytes of data do not fit into %d", r.Seal.Length, r.Keep)
	}
	return nil
}

func decodeSeal(m *nodepb.SealRequest) (SealRequest, error) {
	id, err := decodeExtent(m.GetExtent())
	if err != nil {
		return SealRequest{}, err
	}
	r := SealRequest{Extent: id, Keep: m.GetKeep(), Seal: coherence.Seal{Length: m.GetLength(), Checksum: m.GetChecksum()}}
	if err := r.check(); err != nil {
		return SealRequest{}, badArgument("seal: %v", err)
	}
	return r, nil
}

func encodeFree(r FreeRequest) *nodepb.FreeRequest {
	m := &nodepb.FreeRequest{Extents: encodeExtents(r.Extents), Settling: r.Settling}
	for _, ticket := range r.Tickets {
		m.Tickets = append(m.Tickets, uint64(ticket))
	}
	return m
}

func decodeFree(m *nodepb.FreeRequest) (FreeRequest, error) {
	ids, err := decodeExtents(m.GetExtents())
	if err != nil {
		return FreeRequest{}, err
	}
	if len(m.GetTickets()) > MaxExtents {
		return FreeRequest{}, badArgument("%d tickets, %d are allowed in one call", len(m.GetTickets()), MaxExtents)
	}
	r := FreeRequest{Extents: ids, Settling: m.GetSettling()}
	for _, ticket := range m.GetTickets() {
		r.Tickets = append(r.Tickets, Ticket(ticket))
	}
	return r, nil
}
