package storage_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"belfry/inbox"
	"belfry/storage"
	"belfry/storage/storagetest"
)

// walk reads pages from one end of a list to the other and returns the titles of each.
func walk(t *testing.T, store *storage.Store, userID string, p inbox.Page, f inbox.Filter) [][]string {
	t.Helper()
	var pages [][]string
	for {
		got := page(t, store, userID, p, f)
		pages = append(pages, titles(got.Rows))
		more := got.Reach.HasNext
		if p.Backward {
			more = got.Reach.HasPrevious
		}
		if !more {
			return pages
		}
		if len(got.Rows) == 0 {
			t.Fatalf("an empty page says that there is more: %v", pages)
		}
		if p.Backward {
			p.Before = new(got.Rows[0].Cursor())
		} else {
			p.After = new(got.Rows[len(got.Rows)-1].Cursor())
		}
	}
}

func TestFeed(t *testing.T) {
	t.Parallel()
	databaseURL := storagetest.URL(t)
	store, conn := open(t, databaseURL), connect(t, databaseURL)

	t.Run("T-28 rows that share a timestamp", func(t *testing.T) {
		for n := 1; n <= 5; n++ {
			insert(t, conn, row("ties", n, moment))
		}
		want := [][]string{{"5", "4"}, {"3", "2"}, {"1"}}
		if diff := cmp.Diff(want, walk(t, store, "ties", inbox.Page{Size: 2}, inbox.Filter{})); diff != "" {
			t.Errorf("forward (-want +got):\n%s", diff)
		}
		want = [][]string{{"2", "1"}, {"4", "3"}, {"5"}}
		if diff := cmp.Diff(want, walk(t, store, "ties", inbox.Page{Size: 2, Backward: true}, inbox.Filter{})); diff != "" {
			t.Errorf("backward (-want +got):\n%s", diff)
		}
	})
	t.Run("T-29 rows within a millisecond", func(t *testing.T) {
		second := moment.Truncate(time.Second)
		for n, micros := range []int{123456, 123457, 123999} {
			insert(t, conn, row("micros", 9-n, second.Add(time.Duration(micros)*time.Microsecond)))
		}
		want := [][]string{{"7"}, {"8"}, {"9"}}
		if diff := cmp.Diff(want, walk(t, store, "micros", inbox.Page{Size: 1}, inbox.Filter{})); diff != "" {
			t.Errorf("forward (-want +got):\n%s", diff)
		}
		want = [][]string{{"9"}, {"8"}, {"7"}}
		if diff := cmp.Diff(want, walk(t, store, "micros", inbox.Page{Size: 1, Backward: true}, inbox.Filter{})); diff != "" {
			t.Errorf("backward (-want +got):\n%s", diff)
		}
	})
	t.Run("T-32 the cursor's row is gone", func(t *testing.T) {
		insert(t, conn, row("gone", 1, moment), row("gone", 2, moment), row("gone", 3, moment))
		end := page(t, store, "gone", inbox.Page{Size: 2}, inbox.Filter{}).Rows[1].Cursor()
		if _, err := store.DeleteNotifications(t.Context(), "gone", []inbox.Cursor{end}); err != nil {
			t.Fatal(err)
		}
		got := page(t, store, "gone", inbox.Page{Size: 2, After: &end, Both: true}, inbox.Filter{})
		if diff := cmp.Diff([]string{"1"}, titles(got.Rows)); diff != "" {
			t.Errorf("page (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(inbox.Reach{HasPrevious: true}, got.Reach); diff != "" {
			t.Errorf("reach (-want +got):\n%s", diff)
		}
	})
	t.Run("T-34 the same page twice", func(t *testing.T) {
		p := inbox.Page{Size: 2, After: &inbox.Cursor{CreatedAt: moment, ID: numbered(5)}}
		first := page(t, store, "ties", p, inbox.Filter{})
		if diff := cmp.Diff(first, page(t, store, "ties", p, inbox.Filter{})); diff != "" {
			t.Errorf("(-first +second):\n%s", diff)
		}
	})
	t.Run("nobody's feed is empty", func(t *testing.T) {
		pages, err := store.FeedPages(t.Context(), []string{"nobody", "none"}, inbox.Page{Size: 1, Both: true}, inbox.Filter{})
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]storage.Page[inbox.Notification]{"nobody": {}, "none": {}}
		if diff := cmp.Diff(want, pages); diff != "" {
			t.Errorf("pages (-want +got):\n%s", diff)
		}
	})
}

func TestFeedRange(t *testing.T) {
	t.Parallel()
	databaseURL := storagetest.URL(t)
	store, conn := open(t, databaseURL), connect(t, databaseURL)
	place := map[string]*inbox.Cursor{
		"newer": {CreatedAt: moment.Add(time.Hour), ID: inbox.MaxUUID},
		"older": {CreatedAt: moment.Add(-time.Hour), ID: inbox.MinUUID},
		// At the borders of a microsecond: what is just above or below lies in another.
		"top":    {CreatedAt: moment.Add(5 * time.Second), ID: inbox.MaxUUID},
		"bottom": {CreatedAt: moment.Add(time.Second), ID: inbox.MinUUID},
	}
	for n := 1; n <= 5; n++ { // the feed is 5 4 3 2 1
		r := row("u", n, moment.Add(time.Duration(n)*time.Second))
		insert(t, conn, r)
		place[r.Title] = new(r.Cursor())
	}
	const next, previous = "next", "previous"
	both := []string{next, previous}
	for name, tt := range map[string]struct {
		size          int
		backward      bool
		after, before string
		rows, reach   []string
	}{
		"from the start":                 {size: 2, rows: []string{"5", "4"}, reach: []string{next}},
		"all":                            {size: 5, rows: []string{"5", "4", "3", "2", "1"}},
		"all but one":                    {size: 4, rows: []string{"5", "4", "3", "2"}, reach: []string{next}},
		"after":                          {size: 2, after: "4", rows: []string{"3", "2"}, reach: both},
		"after the newest":               {size: 2, after: "5", rows: []string{"4", "3"}, reach: both},
		"after the oldest":               {size: 2, after: "1", reach: []string{previous}},
		"after what is newer than all":   {size: 2, after: "newer", rows: []string{"5", "4"}, reach: []string{next}},
		"after what is older than all":   {size: 2, after: "older", reach: []string{previous}},
		"after the top of a microsecond": {size: 1, after: "top", rows: []string{"5"}, reach: []string{next}},
		"before, forward":                {size: 2, before: "3", rows: []string{"5", "4"}},
		"before, forward, with more":     {size: 1, before: "3", rows: []string{"5"}, reach: []string{next}},
		"range":                          {size: 2, after: "5", before: "1", rows: []string{"4", "3"}, reach: both},
		"range, all of it":               {size: 3, after: "5", before: "1", rows: []string{"4", "3", "2"}, reach: []string{previous}},
		"range, empty":                   {size: 3, after: "3", before: "2", reach: []string{previous}},
		"range, the wrong way round":     {size: 3, after: "2", before: "4", reach: []string{previous}},
		"T-36 none of the first":         {size: 0, reach: []string{next}},
		"none after":                     {size: 0, after: "3", reach: both},
		"none after the oldest":          {size: 0, after: "1", reach: []string{previous}},

		"last":                             {size: 2, backward: true, rows: []string{"2", "1"}, reach: []string{previous}},
		"last, all":                        {size: 5, backward: true, rows: []string{"5", "4", "3", "2", "1"}},
		"before":                           {size: 2, backward: true, before: "2", rows: []string{"4", "3"}, reach: both},
		"before the oldest":                {size: 2, backward: true, before: "1", rows: []string{"3", "2"}, reach: both},
		"before the newest":                {size: 2, backward: true, before: "5", reach: []string{next}},
		"before what is older than all":    {size: 2, backward: true, before: "older", rows: []string{"2", "1"}, reach: []string{previous}},
		"before what is newer than all":    {size: 2, backward: true, before: "newer", reach: []string{next}},
		"before the bottom of microsecond": {size: 1, backward: true, before: "bottom", rows: []string{"1"}, reach: []string{previous}},
		"after, backward":                  {size: 2, backward: true, after: "3", rows: []string{"2", "1"}},
		"after, backward, with more":       {size: 1, backward: true, after: "3", rows: []string{"1"}, reach: []string{previous}},
		"backward range":                   {size: 2, backward: true, after: "5", before: "1", rows: []string{"3", "2"}, reach: both},
		"T-36 none of the last":            {size: 0, backward: true, reach: []string{previous}},
	} {
		t.Run(name, func(t *testing.T) {
			p := inbox.Page{
				Size: tt.size, Backward: tt.backward, After: place[tt.after], Before: place[tt.before], Both: true,
			}
			got := page(t, store, "u", p, inbox.Filter{})
			if tt.rows == nil {
				tt.rows = []string{}
			}
			if diff := cmp.Diff(tt.rows, titles(got.Rows)); diff != "" {
				t.Errorf("rows (-want +got):\n%s", diff)
			}
			var want inbox.Reach
			for _, r := range tt.reach {
				want.HasNext = want.HasNext || r == next
				want.HasPrevious = want.HasPrevious || r == previous
			}
			if diff := cmp.Diff(want, got.Reach); diff != "" {
				t.Errorf("reach (-want +got):\n%s", diff)
			}
		})
	}
}

// The far side costs a second statement, so only where it is asked for and can be.
func TestFeedFarSide(t *testing.T) {
	t.Parallel()
	databaseURL := storagetest.URL(t)
	store, recorder := traced(t, databaseURL)
	at := &inbox.Cursor{CreatedAt: moment, ID: numbered(1)}
	insert(t, connect(t, databaseURL), row("u", 1, moment))
	for name, tt := range map[string]struct {
		page       inbox.Page
		reach      inbox.Reach
		statements []string
	}{
		"forward, not asked": {inbox.Page{After: at}, inbox.Reach{}, []string{"FeedPage"}},
		"forward, asked": {
			inbox.Page{After: at, Both: true}, inbox.Reach{HasPrevious: true},
			[]string{"FeedPageBackward", "FeedPage"},
		},
		"forward from the start": {inbox.Page{Size: 1, Both: true}, inbox.Reach{}, []string{"FeedPage"}},
		"backward, not asked":    {inbox.Page{Before: at, Backward: true}, inbox.Reach{}, []string{"FeedPageBackward"}},
		"backward, asked": {
			inbox.Page{Before: at, Backward: true, Both: true}, inbox.Reach{HasNext: true},
			[]string{"FeedPage", "FeedPageBackward"},
		},
		"backward from the end":     {inbox.Page{Size: 1, Backward: true, Both: true}, inbox.Reach{}, []string{"FeedPageBackward"}},
		"forward, the other bound":  {inbox.Page{Before: at, Both: true}, inbox.Reach{}, []string{"FeedPage"}},
		"backward, the other bound": {inbox.Page{After: at, Backward: true, Both: true}, inbox.Reach{}, []string{"FeedPageBackward"}},
	} {
		recorder.take()
		got := page(t, store, "u", tt.page, inbox.Filter{})
		if diff := cmp.Diff(tt.reach, got.Reach); diff != "" {
			t.Errorf("%s: reach (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff(tt.statements, recorder.names()); diff != "" {
			t.Errorf("%s: statements (-want +got):\n%s", name, diff)
		}
	}
}

// Keys find notifications one by one; ids of other kinds, of other users and of no row are passed over.
func TestNotifications(t *testing.T) {
	t.Parallel()
	databaseURL := storagetest.URL(t)
	store := open(t, databaseURL)
	rows := []*inbox.Notification{row("a", 1, moment), read(row("a", 2, moment)), archived(row("b", 1, moment))}
	insert(t, connect(t, databaseURL), rows...)
	ids := []inbox.NodeID{
		{Kind: inbox.KindUser, UserID: "a"},
		{Kind: inbox.KindNotification, UserID: "b", Position: rows[1].Cursor()},
		{Kind: inbox.KindNotification, UserID: "a", Position: inbox.Cursor{CreatedAt: moment, ID: numbered(3)}},
	}
	want := map[string]*inbox.Notification{}
	for _, n := range rows {
		ids = append(ids, inbox.NodeID{Kind: inbox.KindNotification, UserID: n.UserID, Position: n.Cursor()})
		want[n.NodeID()] = n
	}
	got, err := store.Notifications(t.Context(), append(ids, ids[len(ids)-1]))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// What may be long is read only where it is wanted, and the other columns all the same.
func TestFeedWithoutLongColumns(t *testing.T) {
	t.Parallel()
	databaseURL := storagetest.URL(t)
	store, conn := storagetest.Open(t, storage.Config{URL: databaseURL}), connect(t, databaseURL)
	for n := range 3 {
		insert(t, conn, row("u", n, moment), row("v", n, moment))
	}
	exec(t, conn, `UPDATE notifications SET body = 'body ' || title, url = 'https://example.com/', data = '{"a": 1}', actor_id = 'ann'`)
	for _, p := range []inbox.Page{
		{Size: 2}, {Size: 2, WithoutBody: true}, {Size: 2, WithoutData: true}, {Size: 2, WithoutBody: true, WithoutData: true},
		{Size: 2, Backward: true, WithoutBody: true, WithoutData: true},
	} {
		for _, users := range [][]string{{"u"}, {"u", "v"}} {
			whole := p
			whole.WithoutBody, whole.WithoutData = false, false
			want, err := store.FeedPages(t.Context(), users, whole, inbox.Filter{})
			if err != nil {
				t.Fatal(err)
			}
			for _, n := range want["u"].Rows {
				if n.Body == nil || n.Data == nil {
					t.Fatalf("got %+v, want a body and data", n)
				}
			}
			for _, user := range users {
				for _, n := range want[user].Rows {
					if p.WithoutBody {
						n.Body = nil
					}
					if p.WithoutData {
						n.Data = nil
					}
				}
			}
			got, err := store.FeedPages(t.Context(), users, p, inbox.Filter{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%+v of %v (-want +got):\n%s", p, users, diff)
			}
		}
	}
}
