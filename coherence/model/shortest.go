package model

import (
	"fmt"

	"github.com/csmsql/csmsql/coherence"
)

// Shortest returns every shortest run to every protocol state, by the name of that state: where one generation stands
// with its lender and its writer, and where one node that reads it stands. Nothing else goes on in these runs: another
// generation or another reader would make none of them shorter.
func (m *Model) Shortest() map[string][]*Trace {
	s := shortest{Model: m, arrivals: map[State][]arrival{{}: nil}, targets: map[string][]State{}}
	for layer := []State{{}}; len(layer) > 0; {
		layer = s.next(layer)
	}
	runs := map[string][]*Trace{}
	for label, targets := range s.targets {
		for _, target := range targets {
			s.walkBack(target, nil, func(steps []Step) {
				t := &Trace{Model: m}
				for i := len(steps) - 1; i >= 0; i-- {
					t.take(steps[i])
				}
				runs[label] = append(runs[label], t)
			})
		}
	}
	return runs
}

// shortest is a breadth-first search that remembers every shortest way.
type shortest struct {
	*Model
	arrivals map[State][]arrival // the last step of every shortest way
	targets  map[string][]State  // by label: the states that show it first
}

type arrival struct {
	from State
	step Step
}

func (s *shortest) next(layer []State) (next []State) {
	fresh := map[State]bool{}
	for _, from := range layer {
		for _, step := range scripts(s.enabled(&from)) {
			to := from
			s.apply(&to, step, nil)
			if _, known := s.arrivals[to]; known && !fresh[to] || !to.alone() {
				continue
			}
			if !fresh[to] {
				fresh[to] = true
				next = append(next, to)
			}
			s.arrivals[to] = append(s.arrivals[to], arrival{from, step})
		}
	}
	shown := map[string][]State{}
	for _, to := range next {
		for _, label := range to.labels() {
			if _, before := s.targets[label]; !before {
				shown[label] = append(shown[label], to)
			}
		}
	}
	for label, states := range shown {
		s.targets[label] = states
	}
	return next
}

// walkBack visits every shortest way to target, as its steps from the last to the first.
func (s *shortest) walkBack(target State, steps []Step, visit func([]Step)) {
	ways := s.arrivals[target]
	if len(ways) == 0 {
		visit(steps)
	}
	for _, way := range ways {
		s.walkBack(way.from, append(steps[:len(steps):len(steps)], way.step), visit)
	}
}

// alone reports whether at most one generation lives and at most one node knows it.
func (s *State) alone() bool {
	live, readers := 0, 0
	for i := range slots {
		if s.generations[i].live() {
			live++
		}
		for n := range Nodes {
			if s.readers[n][i].state != stranger {
				readers++
			}
		}
	}
	return live <= 1 && readers <= 1
}

// labels names where the generation of a state stands, and where its reader does.
func (s *State) labels() (labels []string) {
	for i := range slots {
		g := &s.generations[i]
		if !g.live() {
			continue
		}
		extent := fmt.Sprintf("of %v at %d+%d", g.writer, g.first, g.count)
		if g.state == coherence.Granted {
			labels = append(labels, fmt.Sprintf("%v, %v, %s", g.state, phaseNames[g.phase], extent))
		} else {
			labels = append(labels, fmt.Sprintf("%v %s", g.state, extent))
		}
		for n := range Node(Nodes) {
			if r := &s.readers[n][i]; r.state != stranger {
				labels = append(labels, fmt.Sprintf("%s (attempt %d) by %v, %v %s", readerNames[r.state], r.attempts, n, g.state, extent))
			}
		}
	}
	return labels
}

var (
	phaseNames  = [...]string{"resting", "preparing", "writing", "shrinking", "cleaning"}
	readerNames = [...]string{"stranger", "acquiring", "reading", "held"}
)
