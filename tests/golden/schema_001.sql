-- A database as the first release wrote it (schema m001). Never change it: the tests open it with every later release.
begin;
CREATE TABLE migration (
    release integer primary key,
    name text not null,
    oldest_release integer not null,
    at text not null default (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
) strict
;
CREATE TABLE stream (
            number integer primary key autoincrement,
            name text not null unique,
            seq integer not null,
            head blob not null,
            status text not null,
            title text not null,
            opened_at text not null,
            changed_at text not null,
            details text not null
        ) strict
        ;
CREATE INDEX stream_by_status on stream (status, number);
CREATE TABLE journal (
            position integer primary key autoincrement,
            stream text not null,
            seq integer not null,
            entry text not null,
            hash blob not null,
            restored integer not null,
            unique (stream, seq)
        ) strict
        ;
CREATE VIRTUAL TABLE words using fts5 (
            text, content = '', columnsize = 0, detail = none,
            tokenize = "unicode61 remove_diacritics 2 categories 'L* M* N* Co'", prefix = '1 2 3'
        );
CREATE TABLE spending (
            day text not null,
            stream text not null,
            calls integer not null,
            cost text not null,
            primary key (stream, day)
        ) strict, without rowid
        ;
CREATE TABLE daily_spending (
            day text primary key,
            calls integer not null,
            cost text not null
        ) strict, without rowid
        ;
CREATE TABLE lease (
            stream text primary key,
            owner text not null,
            until real not null,
            requests integer not null default 0,
            cost text not null default '0'
        ) strict
        ;
CREATE TABLE opening (key text primary key, stream text not null, at text not null) strict;
CREATE INDEX opening_by_time on opening (at);
CREATE TABLE reader (
            name text primary key,
            since integer not null,
            position integer not null
        ) strict
        ;
CREATE TABLE outbox (
            number integer primary key autoincrement,
            id text not null unique,
            reader text not null,
            queue integer not null,
            stream text not null,
            seq integer not null,
            position integer not null,
            event text not null,
            due real not null,
            attempts integer not null
        ) strict
        ;
CREATE INDEX outbox_by_queue on outbox (reader, queue, number);
CREATE TRIGGER journal_no_update before update on journal
        begin select raise(abort, 'entries are written once'); end;
CREATE TRIGGER journal_no_delete before delete on journal
        begin select raise(abort, 'entries are written once'); end;
insert into migration (release, name, oldest_release, at) values (1, 'initial', 1, '2026-01-05T07:59:59.000Z');
insert into stream (number, name, seq, head, status, title, opened_at, changed_at, details) values (1, 'd-golden', 3, X'D63E2E0062F0CCBD16E085F8F0E4B8EE5B1AAB48373F07264C1943AC94A3A350', 'concluded', 'Is this kept?', '2026-01-05T08:00:00.000Z', '2026-01-05T08:00:02.500Z', '{"cost":"0.01","rounds":1}');
insert into journal (position, stream, seq, entry, hash, restored) values (1, 'd-golden', 1, '{"actor":"user","at":"2026-01-05T08:00:00.000Z","body":{"kind":"opened","limits":{"max_cost_usd":"0.50","share":0.5},"question":"Is this kept?","seats":["a","b"]},"seq":1}', X'10A1292DBAFCFB2D9E7A9794E1C992C3837ED7FE1244C612ACFBE45825A125AF', 0);
insert into journal (position, stream, seq, entry, hash, restored) values (2, 'd-golden', 2, '{"actor":"model","at":"2026-01-05T08:00:01.250Z","body":{"kind":"spoke","text":"Zażółć \"gęślą\" jaźń\n🧪"},"seq":2}', X'2FEEC6AC2CCFC4BA9A7CAA4E462DD3DCA5E02C2AFF1E66084DCD81B4A528ABF5', 0);
insert into journal (position, stream, seq, entry, hash, restored) values (3, 'd-golden', 3, '{"actor":"model","at":"2026-01-05T08:00:02.500Z","body":{"kind":"ended","reason":"concluded"},"seq":3}', X'D63E2E0062F0CCBD16E085F8F0E4B8EE5B1AAB48373F07264C1943AC94A3A350', 0);
insert into lease (stream, owner, until) values ('d-golden', 'server-1', 1800000060.0);
insert into words (rowid, text) values (1, 'Is this kept? Zażółć gęślą jaźń');
commit;
