package push

import (
	"cmp"
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"

	"belfry/inbox"
	"belfry/storage"
)

// Config says what a worker works with. The zero values of the times stand for their defaults.
type Config struct {
	Store *storage.Store
	// Senders has one for each provider by which pushes go out. What is for another stays queued.
	Senders map[inbox.Provider]Sender
	// Preferences is asked which categories a user has switched off; nil for the user's settings here.
	Preferences *Preferences
	Logger      *slog.Logger

	// PollInterval is how often the worker looks for work that nobody told it of. Default 1 s.
	PollInterval time.Duration
	// SendTimeout bounds one Send. Default 30 s.
	SendTimeout time.Duration
	// Lease is how long a claimed delivery may be under way: longer than SendTimeout. Default 2 min. No other
	// claim holds longer.
	Lease time.Duration
	// ReceiptInterval is how long after a send, and after each look, a receipt is looked for. Default 15 min.
	ReceiptInterval time.Duration
	// GiveUpAfter is how long after a send its receipt is unknown for good. Default 24 h.
	GiveUpAfter time.Duration
	// QueueFor is how long a push may wait to be sent, again after each refusal too. Default 4 h: what is
	// older is no news.
	QueueFor time.Duration
}

const (
	// planLease is how long planning them may take at most before another process plans them too.
	planLease = 30 * time.Second
	// sendsAtOnce is how many requests to one provider are under way at most.
	sendsAtOnce = 6
	// claimTimeout bounds a claim of deliveries, and so how long a stop waits for one.
	claimTimeout = 5 * time.Second
	// receiptLease is how long at most no other process asks for the receipts that this one asks for.
	receiptLease = time.Minute
	// janitorInterval is how often lost sends are failed and what nobody sends is dropped.
	janitorInterval = 10 * time.Second
	// reportPause is the pause between two tries to write down what became of sends or of receipts.
	reportPause = 500 * time.Millisecond
	// minRequeue is the least pause before a requeued message is tried again.
	minRequeue = time.Second
)

// Worker plans, sends and follows pushes. Any number of processes share the work.
type Worker struct {
	cfg  Config
	wake chan struct{}
}

// NewWorker returns a worker that works once Run is called.
func NewWorker(cfg Config) *Worker {
	cfg.PollInterval = cmp.Or(cfg.PollInterval, time.Second)
	cfg.SendTimeout = cmp.Or(cfg.SendTimeout, 30*time.Second)
	cfg.Lease = cmp.Or(cfg.Lease, 2*time.Minute)
	cfg.ReceiptInterval = cmp.Or(cfg.ReceiptInterval, 15*time.Minute)
	cfg.GiveUpAfter = cmp.Or(cfg.GiveUpAfter, 24*time.Hour)
	cfg.QueueFor = cmp.Or(cfg.QueueFor, 4*time.Hour)
	return &Worker{cfg: cfg, wake: make(chan struct{}, 1)}
}

// Wake tells the worker that there may be something to plan. It does not block.
func (w *Worker) Wake() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// Run works until ctx ends. Without a sender it plans nothing, which other processes may do, and only keeps
// the tables from growing. When ctx has ended it claims nothing more, lets the sends under way finish, and returns when
// what became of them is written down.
func (w *Worker) Run(ctx context.Context) {
	var group sync.WaitGroup
	sends := map[inbox.Provider]chan struct{}{}
	for provider, sender := range w.cfg.Senders {
		planned := make(chan struct{}, 1)
		sends[provider] = planned
		group.Go(func() { w.send(ctx, provider, sender, planned) })
		group.Go(func() { w.reconcile(ctx, provider, sender) })
	}
	if len(sends) > 0 {
		group.Go(func() { w.plan(ctx, sends) })
	}
	group.Go(func() { w.tidy(ctx) })
	group.Wait()
}

// plan turns queued notifications into deliveries, and tells the senders.
func (w *Worker) plan(ctx context.Context, sends map[inbox.Provider]chan struct{}) {
	w.repeat(ctx, w.cfg.PollInterval, w.wake, "plan pushes", func() (bool, error) {
		queued, err := w.cfg.Store.ClaimPushes(ctx, min(planLease, w.cfg.Lease))
		if err != nil || len(queued) == 0 {
			return false, err
		}
		ids := make([]int64, len(queued))
		for i, q := range queued {
			ids[i] = q.ID
		}
		var muted []int64
		if w.cfg.Preferences != nil {
			muted = w.cfg.Preferences.muted(ctx, queued)
		}
		if _, err := w.cfg.Store.PlanPushes(ctx, ids, muted, w.cfg.Preferences == nil); err != nil {
			return false, err
		}
		for _, planned := range sends {
			select {
			case planned <- struct{}{}:
			default:
			}
		}
		return len(queued) == storage.PushBatch, nil
	})
}

// repeat calls step at once, then when woken or after each interval, and at once again while it says that
// there is more. A failed step waits for the next interval.
func (w *Worker) repeat(ctx context.Context, interval time.Duration, wake <-chan struct{}, what string, step func() (bool, error)) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-wake:
		case <-timer.C:
		}
		for ctx.Err() == nil {
			more, err := step()
			if err != nil && ctx.Err() == nil {
				w.cfg.Logger.Warn("push worker", "step", what, "error", err.Error())
			}
			if !more || err != nil {
				break
			}
		}
		timer.Reset(interval)
	}
}

// send claims deliveries of a provider and sends them, several requests at once.
func (w *Worker) send(ctx context.Context, provider inbox.Provider, sender Sender, planned <-chan struct{}) {
	slots := make(chan struct{}, sendsAtOnce)
	var group sync.WaitGroup
	defer group.Wait()
	w.repeat(ctx, w.cfg.PollInterval, planned, "send pushes", func() (bool, error) {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			return false, nil
		}
		// Not by ctx: Postgres would finish a claim that a stop has cut off, and nobody would know what it was.
		claiming, cancel := context.WithTimeout(context.WithoutCancel(ctx), claimTimeout)
		claimed, err := w.cfg.Store.ClaimDeliveries(claiming, provider, w.cfg.Lease)
		cancel()
		if err != nil || len(claimed) == 0 {
			<-slots
			return false, err
		}
		group.Go(func() {
			defer func() { <-slots }()
			// Claimed is as good as sent: a stop waits for it.
			w.sendBatch(context.WithoutCancel(ctx), sender, claimed)
		})
		return true, nil
	})
}

// sendBatch sends what was claimed and writes down what became of it.
func (w *Worker) sendBatch(ctx context.Context, sender Sender, claimed []storage.Delivery) {
	reports := make([]storage.Report, 0, len(claimed))
	var messages []Message
	var sent []storage.Delivery
	for _, d := range claimed {
		switch {
		case d.IsGone:
			reports = append(reports, failed(d.ID, "notification deleted"))
		case d.Token == "":
			reports = append(reports, failed(d.ID, "device gone"))
		case d.Age > w.cfg.QueueFor:
			reports = append(reports, failed(d.ID, "expired"))
		default:
			messages, sent = append(messages, messageOf(d)), append(sent, d)
		}
	}
	if len(messages) > 0 {
		sending, cancel := context.WithTimeout(ctx, w.cfg.SendTimeout)
		results := sender.Send(sending, messages)
		cancel()
		for i, d := range sent {
			reports = append(reports, w.reportOf(d.ID, results[i]))
		}
	}
	w.writeDown(ctx, w.cfg.Lease, reports, w.cfg.Store.ReportSends)
}

// writeDown reports until it has succeeded, or until the lease is over: then the reports are too late.
func (w *Worker) writeDown(
	ctx context.Context, lease time.Duration, reports []storage.Report, report func(context.Context, []storage.Report) error,
) {
	ctx, cancel := context.WithTimeout(ctx, lease)
	defer cancel()
	ticker := time.NewTicker(reportPause)
	defer ticker.Stop()
	for {
		err := report(ctx, reports)
		if err == nil {
			return
		}
		w.cfg.Logger.Warn("push results not written down yet", "deliveries", len(reports), "error", err.Error())
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

func messageOf(d storage.Delivery) Message {
	m := Message{
		ID: d.ID.String(), Token: d.Token, Platform: strings.ToLower(d.Platform), Title: d.Title, Data: d.Data,
		NotificationID: inbox.NotificationID(d.UserID, d.Position), Kind: d.Kind, Category: d.Category, Badge: d.Badge,
	}
	if d.Body != nil {
		m.Body = *d.Body
	}
	if d.URL != nil {
		m.URL = *d.URL
	}
	return m
}

func failed(id inbox.UUID, code string) storage.Report {
	return storage.Report{ID: id, Status: inbox.PushFailed, Error: &code}
}

func (w *Worker) reportOf(id inbox.UUID, r Result) storage.Report {
	report := storage.Report{ID: id, Error: optional(r.Error), Detail: optional(r.Detail), Disable: r.DisableDevice}
	switch r.Verdict {
	case Sent:
		report.Status, report.Ticket, report.Due = inbox.PushSent, optional(r.Ticket), w.cfg.ReceiptInterval
		report.Error = nil
	case Delivered:
		report.Status, report.Error = inbox.PushDelivered, nil
	case Requeued:
		report.Status, report.Due = inbox.PushQueued, max(r.RetryAfter, minRequeue)
	case Failed:
		report.Status = inbox.PushFailed
		if report.Error == nil {
			unknown := "unknown error"
			report.Error = &unknown
		}
	}
	return report
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
