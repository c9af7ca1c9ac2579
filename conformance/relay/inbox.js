// What an inbox asks Belfry, in Relay's words. relay-compiler reads this file and writes __generated__.

// Takes the place of babel-plugin-relay: a document stands for what was compiled from it.
const graphql = ([document]) => {
  const [, name] = document.match(/(?:query|mutation|subscription|fragment) (\w+)/);
  return require(`./__generated__/${name}.graphql.js`);
};

exports.row = graphql`
  fragment inbox_row on Notification {
    id
    title
    createdAt
    readAt
  }
`;

exports.list = graphql`
  fragment inbox_list on User
  @argumentDefinitions(
    first: { type: "Int" }
    after: { type: "String" }
    last: { type: "Int" }
    before: { type: "String" }
    filter: { type: "NotificationFilter" }
  )
  @refetchable(queryName: "inboxPageQuery") {
    id
    unreadCount
    countedAt
    notifications(first: $first, after: $after, last: $last, before: $before, filter: $filter)
      @connection(key: "inbox_notifications", filters: ["filter"]) {
      __id
      edges {
        cursor
        node {
          ...inbox_row @relay(mask: false)
        }
      }
      pageInfo {
        startCursor
        endCursor
        hasNextPage
        hasPreviousPage
      }
    }
  }
`;

exports.open = graphql`
  query inboxOpenQuery($first: Int, $filter: NotificationFilter) {
    viewer {
      id
      ...inbox_list @arguments(first: $first, filter: $filter)
    }
  }
`;

exports.markRead = graphql`
  mutation inboxMarkReadMutation($ids: [ID!]!, $unread: [ID!]!) {
    markNotificationsRead(input: { ids: $ids }) {
      notifications {
        id
        readAt
      }
      changedIds @deleteEdge(connections: $unread)
      user {
        id
        unreadCount
        countedAt
      }
      userErrors {
        code
      }
    }
  }
`;

exports.markReadOnly = graphql`
  mutation inboxMarkReadOnlyMutation($ids: [ID!]!) {
    markNotificationsRead(input: { ids: $ids }) {
      notifications {
        id
        readAt
      }
      userErrors {
        code
      }
    }
  }
`;

exports.markAllRead = graphql`
  mutation inboxMarkAllReadMutation($throughId: ID) {
    markAllNotificationsRead(input: { throughId: $throughId }) {
      through
      readAt
      user {
        id
        unreadCount
        countedAt
      }
      userErrors {
        code
      }
    }
  }
`;

// @deleteRecord alone would leave edges whose node is null. The edges have to go first.
exports.remove = graphql`
  mutation inboxRemoveMutation($ids: [ID!]!, $lists: [ID!]!) {
    deleteNotifications(input: { ids: $ids }) {
      deletedIds @deleteEdge(connections: $lists)
      deletedRecords: deletedIds @deleteRecord
      user {
        id
        unreadCount
        countedAt
      }
      userErrors {
        code
      }
    }
  }
`;

exports.changed = graphql`
  subscription inboxChangedSubscription($lists: [ID!]!) {
    inboxChanged {
      __typename
      user {
        id
        unreadCount
        countedAt
      }
      ... on NotificationCreated {
        notificationEdge @prependEdge(connections: $lists) {
          cursor
          node {
            ...inbox_row @relay(mask: false)
          }
        }
      }
      ... on NotificationsUpdated {
        notifications {
          id
          readAt
        }
      }
      ... on AllNotificationsRead {
        through
        readAt
        categories
      }
      ... on NotificationsDeleted {
        deletedIds @deleteEdge(connections: $lists)
        deletedRecords: deletedIds @deleteRecord
      }
    }
  }
`;

// Relay reads a field that failed as null, but for one that is caught.
exports.caught = graphql`
  query inboxCaughtQuery($first: Int) {
    viewer @catch {
      notifications(first: $first) {
        nodes {
          id
        }
      }
    }
  }
`;
