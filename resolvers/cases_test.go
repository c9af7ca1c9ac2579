package resolvers_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// These are faults seen in the field with inboxes of others, at the surface where their users met them.
// The number leads to the case; package storage has those that are decided there.

const pageQuery = `query ($first: Int, $after: String, $last: Int, $before: String, $filter: NotificationFilter) {
  viewer { notifications(first: $first, after: $after, last: $last, before: $before, filter: $filter) {
    edges { cursor node { id title } }
    pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
  } } }`

type feedPage struct {
	Edges []struct {
		Cursor string
		Node   struct{ ID, Title string }
	}
	PageInfo struct {
		HasNextPage, HasPreviousPage bool
		StartCursor, EndCursor       *string
	}
}

func (p feedPage) titles() string {
	titles := make([]string, len(p.Edges))
	for i, e := range p.Edges {
		titles[i] = e.Node.Title
	}
	return strings.Join(titles, " ")
}

// page reads a page of ada's feed.
func (a *api) page(variables map[string]any) feedPage {
	a.t.Helper()
	var data struct {
		Viewer struct{ Notifications feedPage }
	}
	a.must(as("ada"), pageQuery, variables, &data)
	return data.Viewer.Notifications
}

// badge returns ada's counters as "unread/unseen".
func (a *api) badge() string {
	a.t.Helper()
	var data struct {
		Viewer struct{ UnreadCount, UnseenCount int }
	}
	a.must(as("ada"), `{ viewer { unreadCount unseenCount } }`, nil, &data)
	return fmt.Sprintf("%d/%d", data.Viewer.UnreadCount, data.Viewer.UnseenCount)
}

// fill gives ada so many notifications, titled 1 and up, and returns their ids.
func (a *api) fill(count int) []string {
	a.t.Helper()
	ids := make([]string, count)
	for i := range ids {
		n := fmt.Sprint(i + 1)
		ids[i] = a.dispatch("ada", map[string]any{"runId": n, "title": n})
	}
	return ids
}

// change runs a mutation on some ids and returns its changedIds and the user's unread count.
func (a *api) change(mutation string, ids ...string) ([]string, int) {
	a.t.Helper()
	var data map[string]struct {
		ChangedIDs []string
		User       struct{ UnreadCount int }
	}
	a.must(as("ada"), `mutation ($ids: [ID!]!) { `+mutation+`(input: {ids: $ids}) { changedIds user { unreadCount } } }`,
		map[string]any{"ids": ids}, &data)
	return data[mutation].ChangedIDs, data[mutation].User.UnreadCount
}

// The count of an answer that was held up is older by its own word.
func TestT01ALaterCountSaysSo(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	ids := a.fill(5)
	var answers []struct {
		UnreadCount int
		CountedAt   string
	}
	for _, id := range ids[:2] {
		var data struct {
			MarkNotificationsRead struct {
				User struct {
					UnreadCount int
					CountedAt   string
				}
			}
		}
		a.must(as("ada"), `mutation ($id: ID!) { markNotificationsRead(input: {ids: [$id]}) { user { unreadCount countedAt } } }`,
			map[string]any{"id": id}, &data)
		answers = append(answers, data.MarkNotificationsRead.User)
	}
	if answers[0].UnreadCount != 4 || answers[1].UnreadCount != 3 || answers[0].CountedAt >= answers[1].CountedAt {
		t.Errorf("got %+v, want 4 and then, by its time too, 3", answers)
	}
}

func TestT04NoQueryChangesState(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.fill(3)
	for range 3 {
		a.page(map[string]any{"first": 20})
	}
	if got, want := a.badge(), "3/3"; got != want {
		t.Errorf("badge: got %s, want %s", got, want)
	}
}

func TestT08RepeatedMarksChangeOnce(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	id := a.fill(1)[0]
	for i, want := range [][]string{{id}, {}, {}} {
		changed, unread := a.change("markNotificationsRead", id)
		if diff := cmp.Diff(want, changed); diff != "" || unread != 0 {
			t.Errorf("call %d: unread %d, changed (-want +got):\n%s", i+1, unread, diff)
		}
	}
}

func TestT09WhatIsPutAwayIsNotCounted(t *testing.T) {
	t.Parallel()
	for _, mutation := range []string{"archiveNotifications", "deleteNotifications"} {
		a := newAPI(t)
		ids := a.fill(2)
		a.must(as("ada"), `mutation ($ids: [ID!]!) { `+mutation+`(input: {ids: $ids}) { user { unreadCount } } }`,
			map[string]any{"ids": ids[:1]}, nil)
		page := a.page(map[string]any{"filter": map[string]any{"status": "UNREAD"}})
		if got := page.titles(); got != "2" || a.badge() != "1/1" {
			t.Errorf("%s: list %q, badge %s; want 2 and 1/1", mutation, got, a.badge())
		}
	}
}

func TestT10ArchivingMovesTheCount(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	ids := a.fill(3)
	if changed, unread := a.change("archiveNotifications", ids[0]); len(changed) != 1 || unread != 2 {
		t.Errorf("archive: changed %v, unread %d; want one and 2", changed, unread)
	}
	if changed, unread := a.change("unarchiveNotifications", ids[0]); len(changed) != 1 || unread != 3 {
		t.Errorf("unarchive: changed %v, unread %d; want one and 3", changed, unread)
	}
}

func TestT14ArchivingAnswersWithWhatChanged(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	ids := a.fill(3)
	a.change("archiveNotifications", ids[1])
	changed, unread := a.change("archiveNotifications", ids[2], ids[1], ids[2], ids[0])
	if diff := cmp.Diff([]string{ids[2], ids[0]}, changed); diff != "" || unread != 0 {
		t.Errorf("unread %d, changed (-want +got):\n%s", unread, diff)
	}
}

func TestT16WhatComesAfterAMarkIsUnseenWhereverItIsListed(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	ids := a.fill(4)
	a.must(as("ada"), `mutation ($id: ID) { markNotificationsSeen(input: {throughId: $id}) { user { id } } }`, map[string]any{"id": ids[3]}, nil)
	if got, want := a.badge(), "4/0"; got != want {
		t.Errorf("after the mark: got %s, want %s", got, want)
	}
	a.dispatch("ada", map[string]any{"runId": "new"})
	a.dispatch("ada", map[string]any{"runId": "old", "occurredAt": "2001-01-01T00:00:00Z"})
	if got, want := a.badge(), "6/2"; got != want {
		t.Errorf("after two more: got %s, want %s", got, want)
	}
	a.must(as("ada"), `mutation { markNotificationsSeen(input: {}) { user { id } } }`, nil, nil)
	if got, want := a.badge(), "6/0"; got != want {
		t.Errorf("after the second mark: got %s, want %s", got, want)
	}
}

func TestT24ArrivalsDuringAMarkAllStayUnread(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	newest := a.fill(5)[4]
	a.dispatch("ada", map[string]any{"runId": "6th"})
	var data struct {
		MarkAllNotificationsRead struct {
			ChangedCount    int
			Through, ReadAt *string
			User            struct{ UnreadCount, UnseenCount int }
		}
	}
	a.must(as("ada"), `mutation ($id: ID) { markAllNotificationsRead(input: {throughId: $id}) {
	  changedCount through readAt user { unreadCount unseenCount } } }`, map[string]any{"id": newest}, &data)
	got := data.MarkAllNotificationsRead
	if got.ChangedCount != 5 || got.User.UnreadCount != 1 || got.Through == nil || got.ReadAt == nil {
		t.Errorf("got %+v, want 5 changed and 1 unread", got)
	}
}

func TestT28RowsThatShareATimeArePagedOnce(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	for n := range 5 {
		a.dispatch("ada", map[string]any{"runId": fmt.Sprint(n), "title": fmt.Sprint(n + 1), "occurredAt": "2026-01-01T00:00:00Z"})
	}
	var got []string
	variables := map[string]any{"first": 2}
	for {
		page := a.page(variables)
		got = append(got, page.titles())
		if !page.PageInfo.HasNextPage {
			break
		}
		variables["after"] = page.PageInfo.EndCursor
	}
	if diff := cmp.Diff([]string{"5 4", "3 2", "1"}, got); diff != "" {
		t.Errorf("pages (-want +got):\n%s", diff)
	}
}

func TestT32ACursorOutlivesItsRow(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	ids := a.fill(3)
	first := a.page(map[string]any{"first": 1})
	a.must(as("ada"), `mutation ($ids: [ID!]!) { deleteNotifications(input: {ids: $ids}) { deletedIds } }`, map[string]any{"ids": ids[2:]}, nil)
	if got := a.page(map[string]any{"after": first.PageInfo.EndCursor}).titles(); got != "2 1" {
		t.Errorf("next page: got %q, want 2 1", got)
	}
}

func TestT34TheSamePageTwiceIsTheSame(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.fill(5)
	variables := map[string]any{"first": 2, "after": a.page(map[string]any{"first": 1}).PageInfo.EndCursor}
	first, second := string(a.post(as("ada"), pageQuery, variables)), string(a.post(as("ada"), pageQuery, variables))
	if diff := cmp.Diff(first, second); diff != "" {
		t.Errorf("(-first +second):\n%s", diff)
	}
}

func TestT35MissedOnesAreReadBackward(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.fill(2)
	start := a.page(nil).PageInfo.StartCursor
	for n := range 3 {
		a.dispatch("ada", map[string]any{"runId": fmt.Sprint("missed", n), "title": fmt.Sprint("missed", n)})
	}
	page := a.page(map[string]any{"last": 50, "before": start})
	if got, want := page.titles(), "missed2 missed1 missed0"; got != want || !page.PageInfo.HasNextPage || page.PageInfo.HasPreviousPage {
		t.Errorf("got %q %+v, want %q with only a next page", got, page.PageInfo, want)
	}
}

func TestT36PageSizes(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.fill(21)
	if got := a.page(nil); len(got.Edges) != 20 || !got.PageInfo.HasNextPage {
		t.Errorf("no size: got %d edges, %+v", len(got.Edges), got.PageInfo)
	}
	for _, argument := range []string{"first", "last"} {
		none := a.page(map[string]any{argument: 0})
		if len(none.Edges) != 0 || none.PageInfo.StartCursor != nil || none.PageInfo.HasNextPage != (argument == "first") ||
			none.PageInfo.HasPreviousPage != (argument == "last") {
			t.Errorf("%s 0: got %+v", argument, none)
		}
		for _, size := range []any{101, -1, 3_000_000_000, -2147483648} {
			got := a.ask(as("ada"), pageQuery, map[string]any{argument: size})
			if len(got.Errors) != 1 || got.Errors[0].Extensions.Code != "BAD_USER_INPUT" || got.Errors[0].Extensions.Argument != argument {
				t.Errorf("%s %v: got %s %+v, want BAD_USER_INPUT naming it", argument, size, got.Data, got.Errors)
			}
		}
	}
	got := a.ask(as("ada"), pageQuery, map[string]any{"first": 1, "last": 1})
	if len(got.Errors) != 1 || got.Errors[0].Extensions.Argument != "last" {
		t.Errorf("both: got %+v", got.Errors)
	}
}
