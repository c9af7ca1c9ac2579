// What an inbox asks Belfry, in the words of Apollo and urql. Relay's are in relay/inbox.js.

const listed = 'id title createdAt readAt';
const counts = 'user { id unreadCount countedAt }';
const refusals = 'userErrors { code message }';

/** A page of the list. The next one takes `after`; what has come since, `last` and `before`. */
export const page = `query Page($first: Int, $after: String, $last: Int, $before: String, $filter: NotificationFilter) {
  viewer {
    id
    unreadCount
    countedAt
    notifications(first: $first, after: $after, last: $last, before: $before, filter: $filter) {
      edges { cursor node { ${listed} } }
      pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
    }
  }
}`;

export const markRead = `mutation MarkRead($ids: [ID!]!) {
  markNotificationsRead(input: {ids: $ids}) { notifications { id readAt } changedIds ${counts} ${refusals} }
}`;

/** Without the counts, for an app that has them from a subscription alone (T-01). */
export const markReadOnly = `mutation MarkReadOnly($ids: [ID!]!) {
  markNotificationsRead(input: {ids: $ids}) { notifications { id readAt } ${refusals} }
}`;

export const markAllRead = `mutation MarkAllRead($throughId: ID) {
  markAllNotificationsRead(input: {throughId: $throughId}) { through readAt ${counts} ${refusals} }
}`;

export const remove = `mutation Remove($ids: [ID!]!) {
  deleteNotifications(input: {ids: $ids}) { deletedIds ${counts} ${refusals} }
}`;

export const inboxChanged = `subscription InboxChanged {
  inboxChanged {
    ${counts}
    ... on NotificationCreated { notificationEdge { cursor node { ${listed} } } }
    ... on NotificationsUpdated { notifications { id readAt } }
    ... on AllNotificationsRead { through readAt categories }
    ... on NotificationsDeleted { deletedIds }
  }
}`;

export const badgeChanged = `subscription BadgeChanged { badgeChanged { ${counts} } }`;
