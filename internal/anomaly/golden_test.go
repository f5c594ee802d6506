package anomaly_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/internal/anomaly"
)

// TestAnomalies: the smallest histories that have each anomaly, with how it is explained, and those beside them that are sound. What is
// found by hand is the argument “is”; go test -rewrite rewrites explanations.
//
// A line is a transaction: “[session] level [outcome] [@begin[-ending]-end]: statement; statement”, a statement “a KEY VALUE” (append), “u KEY VALUE”
// (one that is undone) and “r KEY VALUES…”, several with commas. Transactions without moments are all under way at once. Keys in capitals
// are sets.
func TestAnomalies(t *testing.T) {
	datadriven.RunTest(t, "testdata/anomalies.txt", func(t *testing.T, d *datadriven.TestData) string {
		options := anomaly.Options{
			Set:     func(k anomaly.Key) bool { return strings.ToUpper(string(k)) == string(k) },
			Session: d.HasArg("session"), RealTime: d.HasArg("realtime"), EveryRead: d.HasArg("every-read"),
		}
		var history anomaly.History
		for line := range strings.Lines(d.Input) {
			history = append(history, parse(t, strings.TrimSpace(line), len(history)))
		}
		found, err := anomaly.Check(history, options)
		if err != nil {
			return "no history: " + err.Error() + "\n"
		}
		var kinds []string
		var b strings.Builder
		for _, a := range found {
			kinds = append(kinds, strings.ReplaceAll(string(a.Kind), " ", "-"))
			b.WriteString(a.String())
		}
		var is []string
		for _, arg := range d.CmdArgs {
			if arg.Key == "is" {
				is = arg.Vals
			}
		}
		if !slices.Equal(is, kinds) {
			t.Errorf("%s: it is %v, and found are %v\n%s\n%s", d.Pos, is, kinds, d.Input, b.String())
		}
		if len(found) == 0 {
			return "sound\n"
		}
		again, err := anomaly.Check(history, options)
		require.NoError(t, err)
		require.Equal(t, found, again, "AN2")
		return b.String()
	})
}

func parse(t *testing.T, line string, number int) anomaly.Transaction {
	head, body, ok := strings.Cut(line, ": ")
	require.True(t, ok, line)
	one := anomaly.Transaction{Session: number}
	begin, ending, end := 1, -1, 2
	for _, word := range strings.Fields(head) {
		switch {
		case word == "rc", word == "si", word == "ser":
			one.Level = anomaly.Level(slices.Index([]string{"rc", "si", "ser"}, word))
		case word == "aborted":
			one.Outcome = anomaly.Aborted
		case word == "unknown":
			one.Outcome = anomaly.Unknown
		case word[0] == '@':
			if _, err := fmt.Sscanf(word, "@%d-%d-%d", &begin, &ending, &end); err != nil {
				ending = -1
				_, err = fmt.Sscanf(word, "@%d-%d", &begin, &end)
				require.NoError(t, err, line)
			}
		default:
			_, err := fmt.Sscanf(word, "s%d", &one.Session)
			require.NoError(t, err, line)
		}
	}
	at := 100 * begin
	for part := range strings.SplitSeq(body, ";") {
		s := anomaly.Statement{Begin: anomaly.Moment(at), End: anomaly.Moment(at + 1)}
		at += 2
		for operation := range strings.SplitSeq(part, ",") {
			words := strings.Fields(operation)
			values := []anomaly.Value{}
			for _, word := range words[2:] {
				v, err := strconv.Atoi(word)
				require.NoError(t, err, line)
				values = append(values, anomaly.Value(v))
			}
			o := anomaly.Read(anomaly.Key(words[1]), values...)
			if words[0] != "r" {
				o = anomaly.Append(anomaly.Key(words[1]), values[0])
				o.Undone = words[0] == "u"
			}
			s.Operations = append(s.Operations, o)
		}
		one.Statements = append(one.Statements, s)
	}
	one.Ending, one.End = anomaly.Moment(100*end+98), anomaly.Moment(100*end+99)
	switch {
	case ending > 0:
		one.Ending = anomaly.Moment(100*ending + 98)
	case ending == 0: // with its statement
		one.Ending = 0
	}
	return one
}
