package custody

import (
	"cmp"
	"maps"
	"slices"

	"github.com/csmsql/csmsql/coherence"
)

// Rounds is the number of consecutive rounds in which an extent must be without a holder to be a stray. Two would do: a
// holder that passes it on has it in one of two lists. The third is for an extent that is between two lists in both.
const Rounds = 3

// Extent is one that lives in a region, as its home knows it.
type Extent struct {
	Generation coherence.Generation
	State      coherence.State
	Bytes      int64
	// Own: its writer is the lender's process.
	Own bool
}

// Remedy is what becomes of a stray.
type Remedy uint8

// The remedies.
const (
	// ReportOnly: nothing else can be done (H4). An unknown writer may store into it, or its last reader has not let
	// go.
	ReportOnly Remedy = iota
	// Discard it: it was sealed, so it has no window, and it will not be published.
	Discard
	// Abandon it: it was published and no version has it. It is retired when no node can read what one may have had.
	Abandon
)

func (r Remedy) String() string {
	return [...]string{"reported", "discarded", "abandoned"}[r]
}

// RemedyOf says what becomes of a stray.
func RemedyOf(x Extent) Remedy {
	switch x.State {
	case coherence.Sealed:
		return Discard
	case coherence.Published:
		return Abandon
	}
	return ReportOnly
}

// Account is what one holder has of a region.
type Account struct {
	Holder  string
	Extents int
	Bytes   int64
}

// Report is what a round found.
type Report struct {
	// Accounts are by holder's name; what suspects and strays have is not in them.
	Accounts []Account
	// Suspects are the extents without a holder, strays included: as many bytes.
	Suspects Account
	// Strays are those that are, by generation. Each is reported in every round as long as it lives.
	Strays []Extent
}

// Bytes is what the region's extents have, to the byte.
func (r *Report) Bytes() (sum int64) {
	for _, a := range r.Accounts {
		sum += a.Bytes
	}
	return sum + r.Suspects.Bytes
}

// Audit looks for the holders of the extents of one region, round after round. The zero value is ready. It is for one
// goroutine.
type Audit struct {
	suspects map[coherence.Generation]suspect
}

type suspect struct {
	state  coherence.State
	rounds int
}

// Round takes every extent that lives, as the home listed them before the first call of holder, and the holder of each;
// "" is none.
func (a *Audit) Round(living []Extent, holder func(Extent) string) Report {
	suspects, accounts := map[coherence.Generation]suspect{}, map[string]*Account{}
	var r Report
	for _, x := range living {
		name := holder(x)
		if name == "" {
			was := a.suspects[x.Generation]
			if was.state != x.State {
				was = suspect{state: x.State}
			}
			was.rounds++
			suspects[x.Generation] = was
			r.Suspects.Extents++
			r.Suspects.Bytes += x.Bytes
			if was.rounds >= Rounds {
				r.Strays = append(r.Strays, x)
			}
			continue
		}
		account := accounts[name]
		if account == nil {
			account = &Account{Holder: name}
			accounts[name] = account
		}
		account.Extents++
		account.Bytes += x.Bytes
	}
	a.suspects = suspects
	for _, name := range slices.Sorted(maps.Keys(accounts)) {
		r.Accounts = append(r.Accounts, *accounts[name])
	}
	slices.SortFunc(r.Strays, func(x, y Extent) int { return cmp.Compare(x.Generation, y.Generation) })
	return r
}
