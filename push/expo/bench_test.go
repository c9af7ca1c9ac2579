package expo_test

import (
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"belfry/push"
	"belfry/push/expo"
	"belfry/push/exposim"
)

// BenchmarkSend sends batches of 100 to a simulator over the network of the machine, as many at once as the
// client lets through.
func BenchmarkSend(b *testing.B) {
	sim := exposim.New(exposim.Config{Limit: -1})
	server := httptest.NewServer(sim)
	client := expo.New(expo.Config{BaseURL: server.URL, Limit: -1})
	b.Cleanup(func() {
		client.Close()
		server.Close()
	})
	list := messages(100)
	var batches, failed atomic.Int64
	batches.Store(int64(b.N))
	b.ResetTimer()
	started := time.Now()
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() {
			for batches.Add(-1) >= 0 {
				for _, r := range client.Send(b.Context(), list) {
					if r.Verdict != push.Sent {
						failed.Add(1)
					}
				}
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64(b.N*100)/time.Since(started).Seconds(), "messages/s")
	if failed.Load() > 0 {
		b.Errorf("%d failed", failed.Load())
	}
}
