package upkeep

import "github.com/csmsql/csmsql/engine/ingest"

// Steps says of moves of so many bytes each how many a step has that moves most.
func Steps(most int64, bytes ...int64) (steps []int) {
	m := &moves{}
	for i, n := range bytes {
		m.list = append(m.list, chunkMove{number: i, amount: amount{bytes: n}})
	}
	for len(m.list) > 0 {
		step := m.next(most)
		steps = append(steps, len(step))
		m.list = m.list[len(step):]
	}
	return steps
}

// ChunksOf names chunks of a row each.
func ChunksOf(numbers ...int) string {
	var list []Chunk
	for _, n := range numbers {
		list = append(list, Chunk{number: n, rows: 1})
	}
	return chunksOf(list)
}

// PartsOf divides so many pieces.
func PartsOf(pieces int, counts ...int) (lengths []int, err error) {
	parts, err := partsOf(make([]ingest.Piece, pieces), counts)
	for _, p := range parts {
		lengths = append(lengths, len(p))
	}
	return lengths, err
}

// Full reports whether an error of a space says which node is full.
func Full(err error) (node string) {
	if space, ok := spaceError("n", err).(*noSpace); ok {
		return space.node
	}
	return ""
}
