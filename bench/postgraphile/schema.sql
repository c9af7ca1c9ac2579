-- What a user of PostGraphile adds to the tables for this page: a function for the badge.
CREATE FUNCTION unread_count(user_id text) RETURNS int LANGUAGE sql STABLE AS $$
  SELECT count(*)::int FROM (
    SELECT FROM notifications n
    WHERE n.user_id = unread_count.user_id AND n.read_at IS NULL AND n.archived_at IS NULL
    LIMIT 9999) c
$$;

-- Without this, archived_at can't be a condition: no index begins with it.
COMMENT ON COLUMN notifications.archived_at IS '@behavior +attribute:filterBy';
