package bench

import (
	"context"
	"errors"
)

func egress(ctx context.Context, o Options) (*Report, error) { return nil, errors.New("later") }
