package storage_test

import (
	"errors"
	"fmt"
	"testing"

	"belfry/inbox"
	"belfry/storage/storagetest"
)

// An export shows one moment, whatever is written while it is read.
func TestExportIsASnapshot(t *testing.T) {
	t.Parallel()
	store := storagetest.New(t)
	for i := range 10 {
		place(t, store, event(fmt.Sprint(i), "u"))
	}
	count := 0
	err := store.Export(t.Context(), "u", func(r inbox.Record) error {
		if count++; count == 1 {
			place(t, store, event("later", "u"))
			item := item("u", "later", "a")
			if _, err := store.PutItem(t.Context(), &item.ItemInput); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil || count != 10 {
		t.Errorf("got %d records and error %v, want 10", count, err)
	}
}

// An error of the reader ends the export, is the export's error, and spoils no connection.
func TestExportEndsWithItsReader(t *testing.T) {
	t.Parallel()
	databaseURL := storagetest.URL(t)
	store, conn := open(t, withParam(t, databaseURL, "pool_max_conns", "1")), connect(t, databaseURL)
	fill(t, conn, "u", "c", 20_000)
	full := errors.New("the disk is full")
	for range 3 {
		count := 0
		err := store.Export(t.Context(), "u", func(inbox.Record) error {
			count++
			return full
		})
		if !errors.Is(err, full) || count != 1 {
			t.Errorf("got error %v after %d records, want %v after one", err, count, full)
		}
	}
	if err := store.Ping(t.Context()); err != nil {
		t.Error(err)
	}
}
