package push

import (
	"context"

	"belfry/inbox"
	"belfry/storage"
)

// reconcile asks a provider what became of what it has taken, on a fixed interval. A claim for the time of
// the question keeps other processes from asking the same.
func (w *Worker) reconcile(ctx context.Context, provider inbox.Provider, sender Sender) {
	interval, lease := min(w.cfg.ReceiptInterval, janitorInterval), min(receiptLease, w.cfg.Lease)
	w.repeat(ctx, interval, nil, "reconcile pushes", func() (bool, error) {
		claimed, err := w.cfg.Store.ClaimReceipts(ctx, provider, lease)
		if err != nil || len(claimed) == 0 {
			return false, err
		}
		receipts, askErr := sender.Receipts(ctx, ticketsOf(claimed))
		reports := make([]storage.Report, len(claimed))
		for i, d := range claimed {
			receipt, ok := receipts[d.Ticket]
			reports[i] = w.settle(d, receipt, ok && d.Ticket != "")
		}
		w.writeDown(ctx, lease, reports, w.cfg.Store.ReportReceipts)
		// After a failed question each is looked at again in its time, and no more are asked for until then.
		return askErr == nil && len(claimed) == storage.ReceiptBatch, askErr
	})
}

func ticketsOf(claimed []storage.Sent) []string {
	tickets := make([]string, 0, len(claimed))
	for _, d := range claimed {
		if d.Ticket != "" {
			tickets = append(tickets, d.Ticket)
		}
	}
	return tickets
}

// settle says what a look at one delivery has shown.
func (w *Worker) settle(d storage.Sent, r Receipt, isThere bool) storage.Report {
	switch {
	case isThere && r.Delivered:
		return storage.Report{ID: d.ID, Status: inbox.PushDelivered}
	case isThere:
		code := r.Error
		if code == "" {
			code = "unknown error"
		}
		return storage.Report{
			ID: d.ID, Status: inbox.PushReceiptError, Error: &code, Detail: optional(r.Detail), Disable: r.DisableDevice,
		}
	case d.Age >= w.cfg.GiveUpAfter:
		return storage.Report{ID: d.ID, Status: inbox.PushUnknown}
	}
	return storage.Report{ID: d.ID, Status: inbox.PushSent, Due: w.cfg.ReceiptInterval}
}
