package memregion

import (
	"fmt"

	"github.com/csmsql/csmsql/internal/bytesize"
)

// ownerTable counts what each owner holds (M4). Owners come and go with tables, so a slot is given back when its
// owner holds nothing and has no quota: the table is as large as the live owners, however many there have been.
type ownerTable struct {
	slots  []ownerSlot
	spare  []int32
	byName map[string]int32
}

type ownerSlot struct {
	name    string
	used    int64 // pages
	extents int
	quota   int64 // pages; only meaningful while limited
	limited bool
}

func (t *ownerTable) init() { t.byName = map[string]int32{} }

func (t *ownerTable) name(slot int32) string { return t.slots[slot].name }

// admit reports whether the owner may hold so many more pages.
func (t *ownerTable) admit(owner string, pages int64) error {
	slot, ok := t.byName[owner]
	if !ok {
		return nil
	}
	s := &t.slots[slot]
	if !s.limited || pages <= s.quota-s.used {
		return nil
	}
	return fmt.Errorf("memregion: allocate %s for %q: %w: holds %s of %s", bytesize.Text(pages*PageSize), owner, ErrQuota,
		bytesize.Text(s.used*PageSize), bytesize.Text(s.quota*PageSize))
}

func (t *ownerTable) slotOf(owner string) int32 {
	if slot, ok := t.byName[owner]; ok {
		return slot
	}
	slot := int32(len(t.slots))
	if n := len(t.spare); n > 0 {
		slot, t.spare = t.spare[n-1], t.spare[:n-1]
	} else {
		t.slots = append(t.slots, ownerSlot{})
	}
	t.slots[slot] = ownerSlot{name: owner}
	t.byName[owner] = slot
	return slot
}

func (t *ownerTable) acquire(owner string, pages int64) int32 {
	slot := t.slotOf(owner)
	t.slots[slot].used += pages
	t.slots[slot].extents++
	return slot
}

func (t *ownerTable) shrink(slot int32, pages int64) { t.slots[slot].used -= pages }

func (t *ownerTable) release(slot int32, pages int64) {
	t.slots[slot].used -= pages
	t.slots[slot].extents--
	t.forgetIdle(slot)
}

func (t *ownerTable) setQuota(owner string, pages int64, limited bool) {
	slot := t.slotOf(owner)
	t.slots[slot].quota, t.slots[slot].limited = pages, limited
	t.forgetIdle(slot)
}

func (t *ownerTable) forgetIdle(slot int32) {
	if s := &t.slots[slot]; s.extents == 0 && !s.limited {
		delete(t.byName, s.name)
		t.slots[slot] = ownerSlot{}
		t.spare = append(t.spare, slot)
	}
}

// usedBytes iterates over the owners that hold something.
func (t *ownerTable) usedBytes(yield func(string, int64) bool) {
	for name, slot := range t.byName {
		if used := t.slots[slot].used; used > 0 && !yield(name, used*PageSize) {
			return
		}
	}
}

func (t *ownerTable) verify(used int64) error {
	sum := int64(0)
	for name, slot := range t.byName {
		s := t.slots[slot]
		if s.name != name || s.used < 0 || s.extents < 0 || (s.extents == 0) != (s.used == 0) {
			return fmt.Errorf("M4: owner %q has %+v", name, s)
		}
		sum += s.used
	}
	if sum != used {
		return fmt.Errorf("M4: owners hold %d pages, %d are used", sum, used)
	}
	return nil
}
