-- Push: the devices, what is to be sent to them, and what became of it.
--
-- Unlike the inbox these are ordinary tables everywhere, on Citus too: a token is unique among all users,
-- and work is claimed across users.

-- +goose Up
CREATE TABLE devices (
    user_id         text        NOT NULL,
    id              uuid        NOT NULL,
    provider        text        NOT NULL CHECK (provider IN ('EXPO', 'WEB_PUSH')),
    token           text        NOT NULL,
    token_hash      bytea       NOT NULL, -- of provider and token, which may be too long for an index
    platform        text        CHECK (platform IN ('IOS', 'ANDROID', 'WEB')),
    installation_id text,
    name            text,
    created_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
    last_seen_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
    disabled_at     timestamptz,
    disabled_reason text,
    PRIMARY KEY (user_id, id),
    CHECK ((disabled_at IS NULL) = (disabled_reason IS NULL))
);
-- A token belongs to one user at a time: registering it again moves it.
CREATE UNIQUE INDEX devices_token ON devices (token_hash);

-- A row for each notification of a user with devices, written with the notification and gone when its
-- deliveries are planned.
CREATE TABLE push_queue (
    id              bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    user_id         text        NOT NULL,
    notification_at timestamptz NOT NULL,
    notification_id uuid        NOT NULL,
    category        text        NOT NULL,
    created_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
    leased_until    timestamptz NOT NULL DEFAULT '-infinity'
);

-- Queue, ledger and audit trail in one: a row for each notification and device.
CREATE TABLE push_deliveries (
    user_id         text        NOT NULL,
    notification_at timestamptz NOT NULL,
    notification_id uuid        NOT NULL,
    device_id       uuid        NOT NULL,
    id              uuid        NOT NULL DEFAULT gen_random_uuid(),
    provider        text        NOT NULL,
    state           text        NOT NULL,
    error           text, -- the provider's code as it gave it
    detail          text,
    ticket          text,
    created_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
    due_at          timestamptz NOT NULL DEFAULT clock_timestamp(), -- queued: of the send; sent: of the next look
    leased_until    timestamptz, -- sending: of the send; sent: of the look under way
    sent_at         timestamptz,
    settled_at      timestamptz,
    PRIMARY KEY (user_id, notification_at, notification_id, device_id),
    CHECK (state IN ('queued', 'sending', 'sent', 'delivered', 'failed', 'receipt_error', 'unknown', 'suppressed')),
    CHECK ((settled_at IS NULL) = (state IN ('queued', 'sending', 'sent'))),
    CHECK ((sent_at IS NOT NULL) OR (state IN ('queued', 'sending', 'failed', 'suppressed'))),
    CHECK ((leased_until IS NOT NULL) OR (state <> 'sending')),
    CHECK ((error IS NOT NULL) = (state IN ('failed', 'receipt_error', 'suppressed')) OR state IN ('queued', 'unknown'))
);
CREATE UNIQUE INDEX push_deliveries_id ON push_deliveries (id);
CREATE INDEX push_deliveries_queued ON push_deliveries (provider, due_at) WHERE state = 'queued';
CREATE INDEX push_deliveries_sending ON push_deliveries (leased_until) WHERE state = 'sending';
CREATE INDEX push_deliveries_sent ON push_deliveries (provider, due_at) WHERE state = 'sent';
CREATE INDEX push_deliveries_settled ON push_deliveries (created_at) WHERE settled_at IS NOT NULL;

-- +goose Down
DROP TABLE push_deliveries, push_queue, devices;
