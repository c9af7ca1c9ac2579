package push_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"belfry/inbox"
	"belfry/push"
	"belfry/push/expo"
	"belfry/storage"
	"belfry/storage/storagetest"
)

// The steps of a push's way at which a worker is killed.
const (
	stepQueueClaimed      = "the queue is claimed"
	stepPlanned           = "it is planned"
	stepDeliveriesClaimed = "the deliveries are claimed, before the send"
	stepTaken             = "the provider has taken it, during the send"
	stepSent              = "it is sent, before the report"
	stepWrittenDown       = "it is reported, before the look for receipts"
	stepAsking            = "the provider is asked for receipts"
	stepAnswered          = "the receipts are known, before the report"
)

// The child's environment: which step to stop at, and where to work.
const (
	envStep     = "BELFRY_TEST_STEP"
	envDatabase = "BELFRY_TEST_DATABASE"
	envExpo     = "BELFRY_TEST_EXPO"
	reached     = "step reached"
)

func TestKilled(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		step, before, after string // the states when it is killed, and in the end
		shown               bool
	}{
		{stepQueueClaimed, "", "delivered", true},
		{stepPlanned, "queued", "delivered", true},
		{stepDeliveriesClaimed, "sending", "failed lease expired", false},
		{stepTaken, "sending", "failed lease expired", true},
		{stepSent, "sending", "failed lease expired", true},
		{stepWrittenDown, "sent", "delivered", true},
		{stepAsking, "sent", "delivered", true},
		{stepAnswered, "sent", "delivered", true},
	} {
		t.Run(tt.step, func(t *testing.T) {
			t.Parallel()
			const n = storage.DeliveryBatch
			gate := &gate{reached: make(chan struct{})}
			switch tt.step {
			case stepTaken:
				gate.path.Store(new("/--/api/v2/push/send"))
			case stepAsking:
				gate.path.Store(new("/--/api/v2/push/getReceipts"))
			}
			r := newRigOver(t, storagetest.URL(t), gate.wrap)
			r.dispatch(t, "hello", r.crowd(t, n)...)
			r.killAt(t, tt.step, gate.reached)
			want := map[string]int{}
			if tt.before != "" {
				want[tt.before] = n
			}
			if diff := cmp.Diff(want, r.states(t)); diff != "" {
				t.Errorf("ledger when the worker is killed (-want +got):\n%s", diff)
			}
			// An hour later, another takes over.
			r.exec(t, `UPDATE push_queue SET leased_until = leased_until - interval '1 hour';
				UPDATE push_deliveries SET leased_until = leased_until - interval '1 hour', due_at = due_at - interval '1 hour'`)
			r.start(t, push.Config{})
			r.settle(t)
			if diff := cmp.Diff(map[string]int{tt.after: n}, r.states(t)); diff != "" {
				t.Errorf("ledger in the end (-want +got):\n%s", diff)
			}
			shown := 0
			if tt.shown {
				shown = n
			}
			if got := r.wantAtMostOnce(t); got != shown {
				t.Errorf("got %d shown, want %d", got, shown)
			}
		})
	}
}

// killAt runs a worker in a process of its own, and kills that by kill -9 when it says that it has reached a
// step, or the gate says so.
func (r *rig) killAt(t *testing.T, step string, atGate <-chan struct{}) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestKilledWorker$", "-test.timeout=60s")
	cmd.Env = append(os.Environ(), envStep+"="+step, envDatabase+"="+r.databaseURL, envExpo+"="+r.server.URL)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	// The child ends with its input, should this process be killed itself.
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said := make(chan string, 1)
	go func() {
		var output strings.Builder
		for lines := bufio.NewScanner(stdout); lines.Scan() && lines.Text() != reached; {
			output.WriteString(lines.Text() + "\n")
		}
		said <- output.String()
	}()
	select {
	case <-atGate:
	case output := <-said:
		if output = strings.TrimSpace(output); output != "" {
			t.Log(output)
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Errorf("kill: %v", err)
	}
	if err := cmd.Wait(); err == nil || err.Error() != "signal: killed" {
		t.Errorf("the worker: got %v, want it killed", err)
	}
}

// gate lets one request to a path through to the handler and then keeps its answer until the client is gone.
type gate struct {
	path    atomic.Pointer[string]
	reached chan struct{}
}

func (g *gate) wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		path := g.path.Load()
		if path == nil || *path != req.URL.Path || !g.path.CompareAndSwap(path, nil) {
			next.ServeHTTP(w, req)
			return
		}
		next.ServeHTTP(httptest.NewRecorder(), req)
		close(g.reached)
		<-req.Context().Done()
	})
}

// TestKilledWorker is the worker that killAt starts; otherwise it does nothing.
func TestKilledWorker(t *testing.T) {
	step := os.Getenv(envStep)
	if step == "" {
		return
	}
	r := &rig{server: &httptest.Server{URL: os.Getenv(envExpo)}}
	r.store = storagetest.Open(t, storage.Config{URL: os.Getenv(envDatabase), Tracer: stopper(step)})
	cfg := push.Config{ReceiptInterval: time.Hour}
	if step == stepAsking || step == stepAnswered {
		cfg.ReceiptInterval = 100 * time.Millisecond
	}
	cfg.Senders = map[inbox.Provider]push.Sender{inbox.ProviderExpo: &stoppingSender{r.expo(t, expo.Config{}), stopper(step)}}
	r.worker(t, cfg).Run(t.Context())
}

// stopper stops the process at its step, until it is killed.
type stopper string

func (s stopper) at(step string) {
	if string(s) != step {
		return
	}
	fmt.Println("\n" + reached)
	_, _ = io.Copy(io.Discard, os.Stdin)
	os.Exit(1)
}

// stepAfter has the step that is reached with the end of a statement.
var stepAfter = map[string]string{
	"ClaimPushes": stepQueueClaimed, "PlanPushes": stepPlanned, "ClaimDeliveries": stepDeliveriesClaimed,
	"ReportSends": stepWrittenDown,
}

type statementKey struct{}

func (s stopper) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	first, _, _ := strings.Cut(data.SQL, "\n")
	name := strings.TrimPrefix(first, "-- name: ")
	if s == stepPlanned && name == "ClaimDeliveries" {
		// The sender looks for work by itself too, and would claim what is planned before the process is killed.
		<-ctx.Done()
	}
	return context.WithValue(ctx, statementKey{}, name)
}

func (s stopper) TraceQueryEnd(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryEndData) {
	statement, _ := ctx.Value(statementKey{}).(string)
	step, ok := stepAfter[statement]
	// A claim of nothing is no step. A report of sends says how many devices it has switched off.
	if ok && data.Err == nil && (data.CommandTag.RowsAffected() > 0 || step == stepWrittenDown) {
		s.at(step)
	}
}

// stoppingSender stops the process between Expo's answers and the worker.
type stoppingSender struct {
	push.Sender
	stopper stopper
}

func (s *stoppingSender) Send(ctx context.Context, messages []push.Message) []push.Result {
	results := s.Sender.Send(ctx, messages)
	s.stopper.at(stepSent)
	return results
}

func (s *stoppingSender) Receipts(ctx context.Context, tickets []string) (map[string]push.Receipt, error) {
	receipts, err := s.Sender.Receipts(ctx, tickets)
	if len(receipts) > 0 {
		s.stopper.at(stepAnswered)
	}
	return receipts, err
}
