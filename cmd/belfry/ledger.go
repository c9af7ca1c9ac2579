package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"text/tabwriter"
	"time"

	"belfry/inbox"
	"belfry/storage"
)

// runPushLedger shows operators what became of pushes.
func runPushLedger(ctx context.Context, env environment, args []string) error {
	f := newFlags("push", env)
	url := f.String("database-url", "", "the database, as postgres://user:password@host/name (required)")
	user := f.String("user", "", "ls: whose pushes")
	limit := f.Int("limit", 50, "ls: the most lines to show, 1 to 1000")
	words, err := f.parseAround(args)
	if err != nil {
		return err
	}
	isList := len(words) == 1 && words[0] == "ls" && *user != "" && *limit > 0 && *limit <= 1000
	isShow := len(words) == 2 && words[0] == "show"
	if !isList && !isShow || *url == "" {
		return fmt.Errorf("%w: belfry push ls --user ID or belfry push show ID, with --database-url", errUsage)
	}
	store, err := storage.Open(ctx, storage.Config{URL: *url, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return fmt.Errorf("%w: %w", errUsage, err)
	}
	defer store.Close()
	if isList {
		lines, err := store.LedgerOfUser(ctx, *user, *limit)
		if err != nil {
			return err
		}
		return listPushes(env.stdout, lines)
	}
	return showPush(ctx, env.stdout, store, words[1])
}

func listPushes(w io.Writer, lines []storage.LedgerLine) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "ID\tPLANNED\tPROVIDER\tSTATE\tERROR")
	for _, l := range lines {
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n",
			l.ID, l.CreatedAt.Format(time.RFC3339), l.Provider, l.State, orDash(l.Error))
	}
	return table.Flush()
}

// showPush shows the delivery of an id, or all of a notification's.
func showPush(ctx context.Context, w io.Writer, store *storage.Store, text string) error {
	var lines []storage.LedgerLine
	var err error
	if deliveryID, ok := inbox.ParseUUID(text); ok {
		lines, err = store.LedgerByID(ctx, deliveryID)
	} else if n, ok := inbox.ParseNodeID(text); ok && n.Kind == inbox.KindNotification {
		lines, err = store.LedgerOfNotification(ctx, n.UserID, n.Position)
	} else {
		return fmt.Errorf("%w: %q is neither the id of a delivery nor that of a notification", errUsage, text)
	}
	if err != nil {
		return err
	}
	if len(lines) == 0 {
		return fmt.Errorf("no push of that id: it was never planned, or was purged")
	}
	for _, l := range lines {
		_, _ = fmt.Fprintf(w, "id            %s\nuser          %s\nnotification  %s\ndevice        %s\nprovider      %s\nstate         %s\n"+
			"error         %s\ndetail        %s\nticket        %s\nplanned       %s\nsent          %s\nsettled       %s\n\n",
			l.ID, l.UserID, l.NotificationID, l.DeviceID, l.Provider, l.State, orDash(l.Error), orDash(l.Detail), orDash(l.Ticket),
			l.CreatedAt.Format(time.RFC3339Nano), timeOrDash(l.SentAt), timeOrDash(l.SettledAt))
	}
	return nil
}

func orDash(s *string) string {
	if s == nil {
		return "-"
	}
	return *s
}

func timeOrDash(t *time.Time) string {
	if t == nil {
		return "-"
	}
	return t.Format(time.RFC3339Nano)
}
