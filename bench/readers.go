package bench

import (
	"context"
	"errors"
)

func readers(ctx context.Context, o Options) (*Report, error)                 { return nil, errors.New("later") }
func readerRole(ctx context.Context, args []string, talk *conversation) error { return nil }
func egress(ctx context.Context, o Options) (*Report, error)                  { return nil, errors.New("later") }
