-- What else travels with a user: what they did, and what they keep, found by tag.

-- +goose Up
CREATE TABLE activities (
    user_id    text        NOT NULL,
    created_at timestamptz NOT NULL,
    id         uuid        NOT NULL,
    verb       text        NOT NULL,
    object     text,
    url        text,
    data       json, -- not jsonb: what was sent comes back as it was
    expires_at timestamptz,
    PRIMARY KEY (user_id, created_at, id)
);

-- The host application's item_id is hashed into id, so that a row is found by it and pages have the keys of
-- the other lists. tags is what a client reads, in the order given; item_tags has a row for each of them.
CREATE TABLE items (
    user_id    text        NOT NULL,
    id         uuid        NOT NULL,
    item_id    text        NOT NULL,
    title      text        NOT NULL,
    url        text,
    data       json,
    tags       text[]      NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (user_id, id)
);
CREATE INDEX items_page ON items (user_id, created_at, id);

-- created_at is the item's: a page by tag is one range of this key.
CREATE TABLE item_tags (
    user_id    text        NOT NULL,
    tag        text        NOT NULL,
    created_at timestamptz NOT NULL,
    id         uuid        NOT NULL,
    PRIMARY KEY (user_id, tag, created_at, id)
);

-- A claim is on a notification or on an activity.
ALTER TABLE claims RENAME COLUMN notification_at TO subject_at;
ALTER TABLE claims RENAME COLUMN notification_id TO subject_id;

-- +goose Down
ALTER TABLE claims RENAME COLUMN subject_at TO notification_at;
ALTER TABLE claims RENAME COLUMN subject_id TO notification_id;
DROP TABLE item_tags, items, activities;
