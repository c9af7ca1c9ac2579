-- The inbox: who has one, what is in it, and what was dispatched.
--
-- user_id leads every key, index and hot WHERE, and nothing refers across tables by a foreign key, so
-- that the same schema runs on one Postgres, on hash partitions and on Citus.

-- +goose Up
CREATE TABLE accounts (
    user_id      text PRIMARY KEY,
    email        text,
    display_name text NOT NULL,
    avatar_url   text,
    created_at   timestamptz NOT NULL
);

-- A null is the default, so that a later change of a default reaches everyone who never chose.
CREATE TABLE settings (
    user_id      text PRIMARY KEY,
    theme        text CHECK (theme IN ('SYSTEM', 'LIGHT', 'DARK')),
    locale       text,
    time_zone    text,
    email_digest text CHECK (email_digest IN ('NEVER', 'DAILY', 'WEEKLY')),
    updated_at   timestamptz NOT NULL
);

CREATE TABLE preferences (
    user_id  text    NOT NULL,
    category text    NOT NULL,
    channel  text    NOT NULL CHECK (channel IN ('IN_APP', 'PUSH', 'EMAIL')),
    enabled  boolean NOT NULL,
    PRIMARY KEY (user_id, category, channel)
);

CREATE TABLE notifications (
    user_id     text        NOT NULL,
    created_at  timestamptz NOT NULL,
    id          uuid        NOT NULL,
    kind        text        NOT NULL,
    category    text        NOT NULL,
    actor_id    text,
    title       text        NOT NULL,
    body        text,
    url         text,
    data        json, -- not jsonb: what was sent comes back as it was
    read_at     timestamptz,
    archived_at timestamptz,
    PRIMARY KEY (user_id, created_at, id)
);

-- A row is in exactly one of four lists: unread, read, archived unread, archived read. The first has an
-- index of its own, which is all that a count reads; the other three share one. Every filter is a merge of
-- these lists, so that no page walks over rows that it does not show. A new notification is written to this
-- index and to the primary key, not to the next one.
CREATE INDEX notifications_unread ON notifications (user_id, created_at, id)
    WHERE read_at IS NULL AND archived_at IS NULL;
CREATE INDEX notifications_done ON notifications
    (user_id, (CASE WHEN archived_at IS NULL THEN 0 WHEN read_at IS NULL THEN 1 ELSE 2 END), created_at, id)
    WHERE read_at IS NOT NULL OR archived_at IS NOT NULL;

-- How far a user has seen the list: everything at or below (created_at, id) that arrived before horizon,
-- which is a UUIDv7 and so compares with the ids of notifications by time of arrival.
CREATE TABLE seen_watermarks (
    user_id    text PRIMARY KEY,
    created_at timestamptz NOT NULL,
    id         uuid        NOT NULL,
    horizon    uuid        NOT NULL
);

-- One row for each event and recipient: the reason why nobody is notified twice.
CREATE TABLE claims (
    user_id         text        NOT NULL,
    key             text        NOT NULL,
    content_hash    bytea       NOT NULL,
    notification_at timestamptz NOT NULL,
    notification_id uuid        NOT NULL,
    created_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (user_id, key)
);

-- +goose Down
DROP TABLE claims, seen_watermarks, notifications, preferences, settings, accounts;
