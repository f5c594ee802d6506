package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/csmsql/csmsql/bench/growing"
	"github.com/csmsql/csmsql/bench/serving"
	"github.com/csmsql/csmsql/bench/traffic"
)

// measureNodes counts what a statement sends in a cluster of so many nodes.
func measureNodes(ctx context.Context, o Options, size int) (steps []traffic.Step, figures []traffic.Figure, idle traffic.Figure, err error) {
	o.say("%d nodes", size)
	directory, err := serving.Directory("")
	if err != nil {
		return nil, nil, idle, err
	}
	var nodes members
	fleet, err := traffic.Start(directory, size, func(i int, address, etcd string) (string, string, error) {
		setting := memberSetting{
			Name: fmt.Sprintf("n%02d", i), Threads: o.Threads, RegionBytes: 64 << 20, MemoryBytes: memberMemory, Fixed: true,
			Begin: i == 0, Address: address, Etcd: "unix://" + etcd,
		}
		node, err := nodes.start(ctx, setting)
		if err != nil {
			return "", "", err
		}
		return node.Socket, strings.TrimPrefix(node.Etcd, "unix://"), nil
	})
	defer func() { err = errors.Join(err, nodes.close(), fleet.Close(), os.RemoveAll(directory)) }()
	if err != nil {
		return nil, nil, idle, err
	}
	wanted := request{Do: "grow", Wanted: growing.Wanted{Skew: o.sabotage}}
	if err := nodes[1].ask(wanted, new(time.Duration)); err != nil {
		return nil, nil, idle, err
	}
	second := &member{process: nodes[1].process, memberHello: memberHello{Socket: fleet.Socket(1)}}
	g := &growth{what: "nodes", sizes: []int64{int64(size)}, nodes: members{second}, rows: make([]int64, 1)}
	for _, step := range commonSteps() {
		if step.after {
			continue // it is timed only
		}
		if step.sql != "" {
			step.times = 40
		}
		steps = append(steps, traffic.Step{Name: step.name, Times: step.times, Commits: step.sql == growthElsewhere, Do: func(run int) error {
			_, err := g.once(ctx, 0, step, run)
			return err
		}})
	}
	if figures, idle, err = fleet.Measure(ctx, o.Runs, steps); err == nil {
		err = g.checkInserted()
	}
	return steps, figures, idle, err
}

// growNodes adds to a report what clusters of more and more nodes send.
func growNodes(ctx context.Context, o Options, r *Report) error {
	sizes := []int{3, 8, 16}
	if o.few {
		sizes = []int{3, 5}
	}
	t := Table{Title: "More and more nodes: messages and bytes", Columns: []string{"what is sent"}}
	var steps []traffic.Step
	figures, idles := make([][]traffic.Figure, len(sizes)), make([]traffic.Figure, len(sizes))
	for i, size := range sizes {
		var err error
		if steps, figures[i], idles[i], err = measureNodes(ctx, o, size); err != nil {
			return fmt.Errorf("%d nodes: %w", size, err)
		}
		t.Columns = append(t.Columns, fmt.Sprintf("of %d nodes", size))
	}
	t.Columns = append(t.Columns, "most ratio")
	for _, l := range traffic.Lines(steps, figures, idles) {
		row := []any{l.Name}
		for _, v := range l.Values {
			row = append(row, fmt.Sprintf("%.1f", v))
		}
		grown := l.Grown()
		if t.Rows = append(t.Rows, append(row, grown)); l.Wanted {
			claim := fmt.Sprintf("%s, of %d nodes / of %d", l.Name, sizes[len(sizes)-1], sizes[0])
			r.Goals = append(r.Goals, atMost(claim, grown, growthLimit))
		}
	}
	r.More = append(r.More, t)
	return nil
}
