package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
)

// startAdmin serves what is for operators alone, on an address of its own that only they should reach:
// /debug/pprof/. It asks for no token. The function that it returns ends it; without an address there is
// nothing to end.
func startAdmin(ctx context.Context, address string, logger *slog.Logger) (func(), error) {
	if address == "" {
		return func() {}, nil
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /debug/pprof/", pprof.Index) // the named profiles too
	mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("POST /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	srv := &http.Server{
		Handler: mux, ReadHeaderTimeout: readHeaderTimeout, IdleTimeout: idleTimeout,
		ErrorLog: slog.NewLogLogger(logger.Handler(), slog.LevelWarn),
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := srv.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			logger.Error("admin address ended", "error", err.Error())
		}
	}()
	logger.Info("open to operators", "address", listener.Addr().String())
	return func() {
		_ = srv.Close() // a profile under way is given up
		<-ended
	}, nil
}
