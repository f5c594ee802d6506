package shell

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/csmsql/csmsql/cmd/csmsql/internal/conversation"
	"github.com/csmsql/csmsql/cmd/csmsql/internal/present"
)

// ErrReported is an error of SQL that the user has seen already.
var ErrReported = errors.New("a statement failed")

// Shell runs statements and shows their results.
type Shell struct {
	talk   conversation.Conversation
	in     io.Reader // the client's end of COPY … FROM STDIN
	out    *bufio.Writer
	errors io.Writer
	sink   conversation.Sink
	timing bool
}

// Options of a Shell.
type Options struct {
	In     io.Reader
	Out    io.Writer
	Errors io.Writer
	Format string // one of present.Formats
	Timing bool
}

// New makes a shell over a conversation, which stays the caller's.
func New(talk conversation.Conversation, o Options) (*Shell, error) {
	out := bufio.NewWriterSize(o.Out, 64<<10)
	sink, err := present.New(o.Format, out)
	if err != nil {
		return nil, err
	}
	return &Shell{talk: talk, in: o.In, out: out, errors: o.Errors, sink: sink, timing: o.Timing}, nil
}

// Script runs the statements of a text up to the first that fails.
func (s *Shell) Script(ctx context.Context, text string) error {
	for _, sql := range conversation.Split(text) {
		if err := s.statement(ctx, sql); err != nil {
			return err
		}
	}
	return nil
}

// statement runs one statement and shows its result or its error.
func (s *Shell) statement(ctx context.Context, sql string) error {
	start := time.Now()
	err := s.run(ctx, sql)
	if flushed := s.out.Flush(); err == nil && flushed != nil {
		return flushed // the output was closed or is full: a pager that was quit, a full disk
	}
	if err != nil {
		present.Failure(s.errors, sql, err)
		return fmt.Errorf("%w: %w", ErrReported, err)
	}
	if s.timing {
		fmt.Fprintf(s.errors, "Time: %.3f ms\n", float64(time.Since(start).Microseconds())/1000)
	}
	return nil
}

func (s *Shell) run(ctx context.Context, sql string) error {
	from, to := conversation.ClientCopy(sql)
	if !from && !to {
		return s.talk.Run(ctx, sql, s.sink)
	}
	tag, err := s.talk.Copy(ctx, sql, s.in, s.out)
	if err == nil && from {
		fmt.Fprintln(s.out, tag)
	}
	return err
}
