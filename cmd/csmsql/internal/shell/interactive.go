package shell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"

	"github.com/peterh/liner"
	"golang.org/x/sys/unix"
)

// statementBytes bounds what a user types or pastes before a semicolon.
const statementBytes = 64 << 20

// Interactive reads statements from the terminal until \q or Ctrl-D. history is a file, or empty.
func (s *Shell) Interactive(ctx context.Context, greeting, history string) error {
	line := liner.NewLiner()
	defer line.Close() // gives the terminal its mode back
	line.SetCtrlCAborts(true)
	line.SetMultiLineMode(true)
	readHistory(line, history)
	defer writeHistory(line, history)
	fmt.Fprintln(s.out, greeting)
	s.out.Flush() // a terminal that is gone shows with the next prompt

	typed := ""
	for {
		prompt := "csmsql=> "
		if typed != "" {
			prompt = "csmsql-> "
		}
		text, err := line.Prompt(prompt)
		switch {
		case errors.Is(err, liner.ErrPromptAborted):
			typed = ""
			continue
		case errors.Is(err, io.EOF):
			fmt.Fprintln(s.out)
			return s.out.Flush()
		case err != nil:
			return err
		}
		var done bool
		if typed, done = s.take(ctx, line, typed, text); done {
			return s.out.Flush()
		}
	}
}

// take adds a line to what was typed, runs it if it is complete, and returns what is still being typed.
func (s *Shell) take(ctx context.Context, line *liner.State, typed, text string) (rest string, done bool) {
	if typed == "" && strings.HasPrefix(strings.TrimSpace(text), `\`) {
		line.AppendHistory(text)
		return "", s.command(ctx, strings.TrimSpace(text))
	}
	if typed == "" && (strings.TrimSpace(text) == "" || text == "exit" || text == "quit") {
		return "", strings.TrimSpace(text) != ""
	}
	if typed != "" {
		typed += "\n"
	}
	typed += text
	if len(typed) > statementBytes {
		fmt.Fprintf(s.errors, "A statement may have %d MiB. Put it into a file: csmsql sql -f FILE\n", statementBytes>>20)
		return "", false
	}
	if !complete(typed) {
		return typed, false
	}
	line.AppendHistory(strings.ReplaceAll(typed, "\n", " "))
	s.interruptible(ctx, func(ctx context.Context) error { return s.Script(ctx, typed) })
	return "", false
}

// interruptible runs statements until they are done or Ctrl-C cancels them. What failed has been shown.
func (s *Shell) interruptible(ctx context.Context, run func(context.Context) error) {
	ctx, stop := signal.NotifyContext(ctx, unix.SIGINT)
	defer stop()
	if err := run(ctx); err != nil && !errors.Is(err, ErrReported) {
		fmt.Fprintf(s.errors, "csmsql: %v\n", err)
	}
}

// HistoryFile is where history is kept: $XDG_STATE_HOME/csmsql/history or ~/.local/state/csmsql/history; empty if
// the user has no home.
func HistoryFile() string {
	dir := os.Getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(dir) {
		home, err := os.UserHomeDir()
		if err != nil {
			return ""
		}
		dir = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(dir, "csmsql", "history")
}

// Errors of the history's file are ignored: the shell works without it.
func readHistory(line *liner.State, path string) {
	if file, err := os.Open(path); path != "" && err == nil {
		_, _ = line.ReadHistory(file)
		_ = file.Close()
	}
}

func writeHistory(line *liner.State, path string) {
	if path == "" || os.MkdirAll(filepath.Dir(path), 0o700) != nil {
		return
	}
	if file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600); err == nil {
		_, _ = line.WriteHistory(file)
		_ = file.Close()
	}
}
