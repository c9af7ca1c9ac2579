-- Retention and erasure: what is old is found by its age, and what is a user's by the user.

-- +goose Up
CREATE INDEX claims_age ON claims (created_at);
-- The whole key, since many may expire at the same midnight.
CREATE INDEX activities_expiry ON activities (expires_at, user_id, created_at, id) WHERE expires_at IS NOT NULL;
CREATE INDEX push_queue_user ON push_queue (user_id);

-- When the last sweep began that came to its end, by what was swept.
CREATE TABLE sweeps (
    name     text PRIMARY KEY,
    began_at timestamptz NOT NULL
);

-- A row from the beginning of an erasure to its end, so that one that is cut off is finished by another
-- process. id takes the user's place in the log. The last three columns are how far others' notifications
-- were searched for the user as their actor.
CREATE TABLE erasures (
    user_id       text PRIMARY KEY,
    id            uuid        NOT NULL DEFAULT gen_random_uuid(),
    began_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
    touched_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
    searched_user text        NOT NULL DEFAULT '',
    searched_at   timestamptz NOT NULL DEFAULT 'epoch',
    searched_id   uuid        NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000'
);
CREATE INDEX erasures_touched ON erasures (touched_at);

-- +goose Down
DROP TABLE erasures, sweeps;
DROP INDEX push_queue_user, activities_expiry, claims_age;
