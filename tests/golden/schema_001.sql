-- A database as the first release wrote it (schema m001). Never change it: the tests open it with every later release.
begin;
CREATE TABLE migration (name text primary key, at text not null) strict;
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
            hash text not null,
            unique (stream, seq)
        ) strict
        ;
CREATE VIRTUAL TABLE words using fts5 (
            text, tokenize = 'unicode61 remove_diacritics 2', prefix = '1 2 3'
        );
CREATE TABLE lease (stream text primary key, owner text not null, until real not null) strict;
CREATE TRIGGER journal_no_update before update on journal
        begin select raise(abort, 'entries are written once'); end;
CREATE TRIGGER journal_no_delete before delete on journal
        begin select raise(abort, 'entries are written once'); end;
insert into migration (name, at) values ('m001_initial', '2026-01-05T07:59:59.000Z');
insert into stream (number, name, seq, head, status, title, opened_at, changed_at, details) values (1, 'd-golden', 3, X'D63E2E0062F0CCBD16E085F8F0E4B8EE5B1AAB48373F07264C1943AC94A3A350', 'concluded', 'Is this kept?', '2026-01-05T08:00:00.000Z', '2026-01-05T08:00:02.500Z', '{"cost":"0.01","rounds":1}');
insert into journal (position, stream, seq, entry, hash) values (1, 'd-golden', 1, '{"actor":"user","at":"2026-01-05T08:00:00.000Z","body":{"kind":"opened","limits":{"max_cost_usd":"0.50","share":0.5},"question":"Is this kept?","seats":["a","b"]},"seq":1}', '10a1292dbafcfb2d9e7a9794e1c992c3837ed7fe1244c612acfbe45825a125af');
insert into journal (position, stream, seq, entry, hash) values (2, 'd-golden', 2, '{"actor":"model","at":"2026-01-05T08:00:01.250Z","body":{"kind":"spoke","text":"Zażółć \"gęślą\" jaźń\n🧪"},"seq":2}', '2feec6ac2ccfc4ba9a7caa4e462dd3dca5e02c2aff1e66084dcd81b4a528abf5');
insert into journal (position, stream, seq, entry, hash) values (3, 'd-golden', 3, '{"actor":"model","at":"2026-01-05T08:00:02.500Z","body":{"kind":"ended","reason":"concluded"},"seq":3}', 'd63e2e0062f0ccbd16e085f8f0e4b8ee5b1aab48373f07264c1943ac94a3a350');
insert into lease (stream, owner, until) values ('d-golden', 'server-1', 1800000060.0);
insert into words (rowid, text) values (1, 'Is this kept? Zażółć gęślą jaźń');
commit;
